"""Files that a user names for a provider."""

from pathlib import Path

from workflows.domain.errors import UsageError


def absolute_file(setting: str, path: str) -> str:
    """`path` with the home for `~`. Raises UsageError for a relative one: the worker runs in a directory of its own."""
    file = Path(path).expanduser() if path.startswith("~/") else Path(path)
    if not file.is_absolute():
        raise UsageError(f"{setting} is the relative path {path!r}: write it from / or ~ on.")
    return str(file)
