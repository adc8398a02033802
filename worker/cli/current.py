"""The directory that a command is typed in."""

from pathlib import Path

from workflows.domain.errors import UsageError


def current_directory() -> Path:
    """Raises UsageError when it is gone while a shell still stands in it."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UsageError(
            "The directory of this shell is not there any more: it was moved or deleted. Change into one that is there."
        ) from None
