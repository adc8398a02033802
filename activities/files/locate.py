"""Where a path that a model wrote really leads: links are followed as the kernel does, and the end is judged."""

import stat
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from activities.files.opening import refusing
from activities.files.place import Place
from workflows.domain.errors import ToolError


class Kind(StrEnum):
    """What stands at the end of a path."""

    FILE = "file"
    DIRECTORY = "directory"
    SPECIAL = "special"
    MISSING = "missing"


@dataclass(frozen=True)
class Located:
    """The real path, without a link in it, and what is there: what is judged, shown, and later opened.

    `links` counts the hard links of a file: more than one means that it has other names as well.
    """

    path: Path
    kind: Kind
    links: int = 1


def locate(written: str, place: Place) -> Located:
    """Resolve a path as a tool gets it: literally (no `~`, `$X` or URL), relative to the session's directory.

    What does not exist yet is judged by its resolved parent. Loops, dangling links, paths through files and names
    that no file can have raise ToolError.
    """
    path = place.directory / _literal(written)
    with refusing(path):
        located = _located(path)
    if located.path.is_relative_to("/proc"):
        raise ToolError(f"{str(path)!r} leads into /proc, which file tools do not open.")
    if written.endswith("/") and located.kind is not Kind.DIRECTORY:
        raise ToolError(f"{str(located.path)!r} is not a directory: write its path without a slash at the end.")
    return located


def _literal(written: str) -> str:
    if not written:
        raise ToolError("The path is empty: give the path of a file or directory.")
    if "\0" in written or any("\ud800" <= character <= "\udfff" for character in written):
        raise ToolError(f"The path {written!r} holds characters that no file name can have.")
    return "/" + written.lstrip("/") if written.startswith("/") else written


def _located(path: Path) -> Located:
    try:
        status = path.stat()
    except FileNotFoundError:
        return Located(_missing(path), Kind.MISSING)
    real = path.resolve(strict=True)
    if stat.S_ISDIR(status.st_mode):
        return Located(real, Kind.DIRECTORY)
    if stat.S_ISREG(status.st_mode):
        return Located(real, Kind.FILE, status.st_nlink)
    return Located(real, Kind.SPECIAL)


def _missing(path: Path) -> Path:
    first = path
    while not first.parent.exists():
        first = first.parent
    rest = path.relative_to(first.parent)
    if ".." in rest.parts:
        raise ToolError(f"{str(path)!r} leads through {str(first)!r}, which does not exist.")
    if first.is_symlink():
        raise ToolError(f"{str(first)!r} is a link to something that does not exist: use the path that it leads to.")
    return first.parent.resolve(strict=True) / rest
