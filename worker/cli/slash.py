"""What is typed in place of a prompt: commands that begin with a slash."""

import re
from enum import StrEnum
from typing import Final

from workflows.domain.errors import UsageError


class Slash(StrEnum):
    """The commands that there are."""

    HELP = "/help"
    STOP = "/stop"
    RETRY = "/retry"
    EXIT = "/exit"


HELP: Final = (
    "/stop   stop the turn",
    "/retry  retry a failed turn",
    "/exit   leave; what is at work goes on (also Ctrl-D when nothing is)",
    "Everything else is a prompt: a turn that is at work sees it at its next step.",
)
_COMMAND: Final = re.compile(r"/[a-z]+")  # one word: a path is no command
_ALSO: Final = {"/quit": Slash.EXIT}


def command(text: str) -> Slash | None:
    """The command that a typed line is; None for a prompt. Raises UsageError for a command that there is not."""
    word = text.strip()
    if not _COMMAND.fullmatch(word):
        return None
    if word in _ALSO:
        return _ALSO[word]
    try:
        return Slash(word)
    except ValueError:
        known = ", ".join(Slash)
        raise UsageError(
            f"There is no command {word}: there are {known}. With a word behind it, it is a prompt."
        ) from None
