"""Changes of files, in lines."""

from typing import Literal

from workflows.domain.value import Value


class FileChanged(Value):
    """A call has changed a file."""

    type: Literal["file"] = "file"
    file: str
    additions: int
    deletions: int


class ChangedFiles(Value):
    """How many files were changed, and the lines that were added and removed, each time anew."""

    files: int = 0
    additions: int = 0
    deletions: int = 0
