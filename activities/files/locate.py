"""Resolves a path from a model as the kernel does, following links."""

import stat
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from activities.files.safe_open import raise_tool_errors
from activities.files.workspace import Workspace
from workflows.domain.errors import ToolError


class PathKind(StrEnum):
    """What a path leads to."""

    FILE = "file"
    DIRECTORY = "directory"
    SPECIAL = "special"
    MISSING = "missing"


@dataclass(frozen=True)
class LocatedPath:
    """A real path without links. `hard_links`: more than one means that the file has other names."""

    path: Path
    kind: PathKind
    hard_links: int = 1


def locate(written: str, workspace: Workspace) -> LocatedPath:
    """Resolve a tool's path literally (no `~`, `$X` or URL), relative to the session's directory; a missing path by its
    parent. ToolError for loops, dangling links, paths through files, and impossible names."""
    path = workspace.directory / _require_valid_path(written)
    with raise_tool_errors(path):
        located = _inspect_path(path)
    if located.path.is_relative_to("/proc"):
        raise ToolError(f"{str(path)!r} leads into /proc, which file tools do not open.")
    if written.endswith("/") and located.kind is not PathKind.DIRECTORY:
        raise ToolError(f"{str(located.path)!r} is not a directory: write its path without a slash at the end.")
    return located


def _require_valid_path(written: str) -> str:
    if not written:
        raise ToolError("The path is empty: give the path of a file or directory.")
    if "\0" in written or any("\ud800" <= character <= "\udfff" for character in written):
        raise ToolError(f"The path {written!r} holds characters that no file name can have.")
    return "/" + written.lstrip("/") if written.startswith("/") else written


def _inspect_path(path: Path) -> LocatedPath:
    try:
        status = path.stat()
    except FileNotFoundError:
        return LocatedPath(_resolve_missing(path), PathKind.MISSING)
    real = path.resolve(strict=True)
    if stat.S_ISDIR(status.st_mode):
        return LocatedPath(real, PathKind.DIRECTORY)
    if stat.S_ISREG(status.st_mode):
        return LocatedPath(real, PathKind.FILE, status.st_nlink)
    return LocatedPath(real, PathKind.SPECIAL)


def _resolve_missing(path: Path) -> Path:
    first = path
    while not first.parent.exists():
        first = first.parent
    rest = path.relative_to(first.parent)
    if ".." in rest.parts:
        raise ToolError(f"{str(path)!r} leads through {str(first)!r}, which does not exist.")
    if first.is_symlink():
        raise ToolError(f"{str(first)!r} is a link to something that does not exist: use the path that it leads to.")
    return first.parent.resolve(strict=True) / rest
