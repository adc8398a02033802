"""Where git finds a repository, and whether its configuration may start programs."""

import os.path
import re
from pathlib import Path
from typing import Final

from activities.files.safe_open import read_whole
from activities.shell.analysis.git_index import read_inner_repositories, read_tracked_names
from activities.shell.analysis.gitconfig import id_bytes, unknown_setting
from workflows.domain.errors import ToolError, UnreadableIndex

_MAX_CONFIG: Final = 256 * 1024  # bytes
_MAX_INSIDE: Final = 64  # repositories in one
_WORK_TREE: Final = re.compile(r"(?im)^[ \t]*worktree[ \t]*=[ \t]*(\S+)[ \t]*$")


def find_repository(directory: Path) -> Path | None:
    """The nearest parent that has a `.git` or is a bare repository (which may be checked-out files)."""
    return next((each for each in (directory, *directory.parents) if _has_git(each) or _is_bare(each)), None)


def unsafe_setting(root: Path) -> str | None:
    """Why git may run programs that this repository, or one inside it, names."""
    todo, seen = [root], {root}
    try:
        while todo:
            if len(seen) > _MAX_INSIDE:
                return f"it holds more than {_MAX_INSIDE} repositories"
            each = todo.pop()
            git, common = _git(each)
            for file in (common / "config", git / "config.worktree"):
                if unknown := _unknown(file, each, git):
                    return f"{unknown} in {os.path.relpath(file, root)}"
            # Git enters the inner repositories that are checked out.
            named = [each / name for name in read_inner_repositories(git / "index", _id_bytes(common))]
            inside = [found for found in named if found not in seen and _has_git(found)]
            seen.update(inside)
            todo += inside
    except UnreadableIndex:
        return "its index cannot be read"
    except (OSError, ValueError) as error:
        return f"its configuration cannot be read ({type(error).__name__})"
    return None


def tracked_names(root: Path) -> list[str]:
    """Tracked names, relative to the work tree. Raises OSError or ValueError."""
    git, common = _git(root)
    return read_tracked_names(git / "index", _id_bytes(common))


def _id_bytes(common: Path) -> int:
    """Raises OSError or ValueError."""
    configuration = common / "config"
    return id_bytes(_read(configuration)) if configuration.is_file() else id_bytes("")


def _has_git(directory: Path) -> bool:
    return os.path.lexists(directory / ".git")


def _is_bare(directory: Path) -> bool:
    there = {name for name in ("HEAD", "commondir", "objects", "refs") if os.path.lexists(directory / name)}
    return "HEAD" in there and ("commondir" in there or {"objects", "refs"} <= there)


def _git(root: Path) -> tuple[Path, Path]:
    """A repository's own and common directory; the `.git` file of a linked work tree or submodule points to it."""
    git = root / ".git" if _has_git(root) else root
    if not git.is_dir():
        git = git.parent / _read(git).removeprefix("gitdir:").strip()
    pointer = git / "commondir"
    return git, git / _read(pointer).strip() if pointer.exists() else git


def _unknown(configuration: Path, root: Path, git: Path) -> str | None:
    """A submodule names its work tree, which may be `root`."""
    if not configuration.is_file():
        return None
    content = _read(configuration)
    unknown = unknown_setting(content)
    if unknown == "core.worktree":
        trees = {os.path.realpath(git / found) for found in _WORK_TREE.findall(content)}
        unknown = unknown_setting(_WORK_TREE.sub("", content)) if trees == {os.path.realpath(root)} else unknown
    return unknown


def _read(file: Path) -> str:
    """Raises OSError or ValueError, also for what is no file, without blocking."""
    try:
        return read_whole(file.resolve(strict=True), _MAX_CONFIG).decode("utf-8")
    except (ToolError, RuntimeError) as error:
        raise ValueError(str(error)) from error
