"""How long a text of a person may be."""

from typing import Final

from workflows.domain.errors import UsageError

MAX_PROMPT_CHARS: Final = 1_000_000


def check_length(what: str, text: str) -> None:
    """Raises UsageError."""
    if len(text) > MAX_PROMPT_CHARS:
        raise UsageError(
            f"{what} has {len(text):,} characters; at most {MAX_PROMPT_CHARS:,} are allowed: "
            "write it into a file of the project and name that file."
        )
