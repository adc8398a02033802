"""Typed commands that begin with a slash."""

import re
from enum import StrEnum
from typing import Final

from workflows.domain.errors import UsageError


class RunCommand(StrEnum):
    HELP = "/help"
    STOP = "/stop"
    RETRY = "/retry"
    EXIT = "/exit"


SLASH_HELP: Final = (
    "/stop   stop the turn",
    "/retry  retry a failed turn",
    "/exit   leave; what is at work goes on (also Ctrl-D when nothing is)",
    "Everything else is a prompt: a turn that is at work sees it at its next step.",
)
_COMMAND: Final = re.compile(r"/[a-z]+")  # one word: a path is no command
_ALSO: Final = {"/quit": RunCommand.EXIT}


def parse_slash_command(text: str) -> RunCommand | None:
    """The command in a line; None for a prompt. Raises UsageError for an unknown command."""
    word = text.strip()
    if not _COMMAND.fullmatch(word):
        return None
    if word in _ALSO:
        return _ALSO[word]
    try:
        return RunCommand(word)
    except ValueError:
        known = ", ".join(RunCommand)
        raise UsageError(
            f"There is no command {word}: there are {known}. With a word behind it, it is a prompt."
        ) from None
