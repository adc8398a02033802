"""Changes of files, in lines, and what a session has seen of files."""

from typing import Literal

from workflows.domain.value import Value


class FileChanged(Value):
    """A call has changed a file."""

    type: Literal["file"] = "file"
    file: str
    additions: int
    deletions: int


class FileVersion(Value):
    """A file as a call has shown or left it: SHA-256 in hex. `replaced`: what the call has found, where it changed a
    part of it."""

    file: str
    digest: str
    replaced: str | None = None


class ChangedFiles(Value):
    """How many files were changed, and the lines that were added and removed, each time anew."""

    files: int = 0
    additions: int = 0
    deletions: int = 0
