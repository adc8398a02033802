"""The text of a prompt: whether it is accepted, and the title that a session gets from its first."""

import re
from typing import Final

from activities.store.sessions import replace_unprintable
from workflows.domain.errors import UsageError

MAX_PROMPT_CHARS: Final = 1_000_000  # characters
_TITLE_CHARS: Final = 100  # characters (opencode.md 6.6)
_CUT_WORD: Final = re.compile(r"[!-~]{8,}$")  # a shorter rest of a secret reveals nothing


def validate_prompt(text: str) -> str:
    """The prompt, if it is valid. Raises UsageError."""
    if not text.strip():
        raise UsageError("The prompt is empty: say what is to be done.")
    check_length("The prompt", text)
    return text


def check_length(what: str, text: str) -> None:
    """Raises UsageError for a text that is too long to be sent."""
    if len(text) > MAX_PROMPT_CHARS:
        raise UsageError(
            f"{what} has {len(text):,} characters, {MAX_PROMPT_CHARS:,} are the most: "
            "write it into a file of the project and name that file."
        )


def session_title(text: str) -> str:
    """The first line of a session's first prompt. Long words are never cut: half a key would escape redaction."""
    first = replace_unprintable(text.strip().splitlines()[0])
    if len(first) <= _TITLE_CHARS:
        return first
    kept, cut = first[: _TITLE_CHARS - 3], not first[_TITLE_CHARS - 3].isspace()
    return (_CUT_WORD.sub("", kept) if cut else kept) + "..."
