"""Repository: where git finds one, and whether its configuration may have reading commands run programs."""

import os.path
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from activities.shell.analysis.gitconfig import unknown_setting

_MOST: Final = 256 * 1024  # bytes of a configuration, and
_MOST_INDEX: Final = 64 * 1024 * 1024  # of an index, that are looked at
_MOST_INSIDE: Final = 64  # repositories in one
_WORK_TREE: Final = re.compile(r"(?im)^[ \t]*worktree[ \t]*=[ \t]*(\S+)[ \t]*$")
# An entry of an index (gitformat-index) for a repository inside: its mode, numbers and a hash, flags, and its name.
_LINK: Final = re.compile(rb"\0\0\xe0\0.{32}([\x00-\xff])[\x00-\xff]([^\0]+)\0", re.S)
_EXTENDED: Final = 0x40  # of the flags: two more bytes follow


def root_of(directory: Path) -> Path | None:
    """The directory in which git finds a repository, for a command that runs in `directory`: the nearest one with a
    `.git`, or one that is a bare repository itself, as can be checked out like any other files."""
    return next((each for each in (directory, *directory.parents) if _has_git(each) or _is_bare(each)), None)


def suspicion(root: Path) -> str | None:
    """Why git may run programs that the repository at `root`, or one inside of it, names; None: it does not."""
    todo, seen = [root], {root}
    try:
        while todo:
            if len(seen) > _MOST_INSIDE:
                return f"it holds more than {_MOST_INSIDE} repositories"
            each = todo.pop()
            git, common = _git(each)
            for file in (common / "config", git / "config.worktree"):
                if unknown := _unknown(file, each, git):
                    return f"{unknown} in {os.path.relpath(file, root)}"
            inside = [found for found in _inside(each, git / "index") if found not in seen]
            seen.update(inside)
            todo += inside
    except (OSError, ValueError) as error:
        return f"its configuration cannot be read ({type(error).__name__})"
    return None


def index_of(root: Path) -> Path:
    """Where the repository at `root` keeps the names that it tracks. Raises OSError or ValueError."""
    return _git(root)[0] / "index"


def _has_git(directory: Path) -> bool:
    return os.path.lexists(directory / ".git")


def _is_bare(directory: Path) -> bool:
    there = {name for name in ("HEAD", "commondir", "objects", "refs") if os.path.lexists(directory / name)}
    return "HEAD" in there and ("commondir" in there or {"objects", "refs"} <= there)


def _git(root: Path) -> tuple[Path, Path]:
    """The directories of a repository: its own, and that of its common configuration. `.git` of a linked work tree or a
    submodule only points to it."""
    git = root / ".git" if _has_git(root) else root
    if not git.is_dir():
        git = git.parent / git.read_text("utf-8").removeprefix("gitdir:").strip()
    pointer = git / "commondir"
    return git, git / pointer.read_text("utf-8").strip() if pointer.exists() else git


def _unknown(configuration: Path, root: Path, git: Path) -> str | None:
    """The setting of a configuration that speaks against it. A submodule's names its work tree, which may be `root`."""
    if not configuration.is_file():
        return None
    content = _read(configuration, _MOST).decode("utf-8")
    unknown = unknown_setting(content)
    if unknown == "core.worktree":
        trees = {os.path.realpath(git / found) for found in _WORK_TREE.findall(content)}
        unknown = unknown_setting(_WORK_TREE.sub("", content)) if trees == {os.path.realpath(root)} else unknown
    return unknown


def _inside(root: Path, index: Path) -> Iterator[Path]:
    """The repositories inside of a work tree that git goes into: those in its index that are checked out. Raises
    ValueError for an index that is too large, or shortens names."""
    content = _read(index, _MOST_INDEX) if index.is_file() else b""
    links = list(_LINK.finditer(content))
    if links and content[4:8] not in (b"\0\0\0\2", b"\0\0\0\3"):
        raise ValueError("names of repositories in an index of another version")
    for link in links:
        name = link[2][2:] if link[1][0] & _EXTENDED else link[2]
        if _has_git(root / os.fsdecode(name)):
            yield root / os.fsdecode(name)


def _read(file: Path, most: int) -> bytes:
    with file.open("rb") as opened:
        content = opened.read(most + 1)
    if len(content) > most:
        raise ValueError(f"{file} is too large")
    return content
