"""A command's working directory."""

from pathlib import Path

from workflows.domain.errors import UsageError


def current_directory() -> Path:
    """Raises UsageError if it was deleted."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UsageError(
            "The directory of this shell is not there any more: it was moved or deleted. Change into one that is there."
        ) from None
