"""Repository: where git finds one, and whether its configuration names programs that reading commands would run."""

import os.path
import re
from pathlib import Path
from typing import Final

_MOST: Final = 256 * 1024  # bytes of a configuration that are looked at
# Keys that lead to programs which the understood forms of git run, and the sections that read a further file. What
# `READING_GIT` switches off needs no look.
_KEYS: Final = b"""external command textconv clean process showsignature sshcommand gitproxy askpass helper
    uploadpack vcs"""
_PROGRAMS: Final = re.compile(
    rb"(?im)(?:^|\])[ \t]*(?:(?:%b)[ \t]*(?:=|$)|\[include(?:if)?\b)" % b"|".join(_KEYS.split())
)


def root_of(directory: Path) -> Path | None:
    """The directory in which git finds a repository, for a command that runs in `directory`: the nearest one with a
    `.git`, or one that is a bare repository itself, as can be checked out like any other files."""
    return next((each for each in (directory, *directory.parents) if _has_git(each) or _is_bare(each)), None)


def names_programs(root: Path) -> bool:
    """Whether the repository at `root` names programs itself; one that cannot be looked at may."""
    try:
        return any(_names(each) for each in _configurations(root / ".git" if _has_git(root) else root))
    except (OSError, ValueError):
        return True


def _has_git(directory: Path) -> bool:
    return os.path.lexists(directory / ".git")


def _is_bare(directory: Path) -> bool:
    there = {name for name in ("HEAD", "commondir", "objects", "refs") if os.path.lexists(directory / name)}
    return "HEAD" in there and ("commondir" in there or {"objects", "refs"} <= there)


def _configurations(git: Path) -> list[Path]:
    """The files with the configuration of a repository; `.git` of a linked work tree only points to it."""
    if not git.is_dir():
        git = git.parent / git.read_text("utf-8").removeprefix("gitdir:").strip()
    pointer = git / "commondir"
    common = git / pointer.read_text("utf-8").strip() if pointer.exists() else git
    return [common / "config", git / "config.worktree"]


def _names(configuration: Path) -> bool:
    if not configuration.is_file():
        return False
    with configuration.open("rb") as file:
        content = file.read(_MOST + 1)
    return len(content) > _MOST or _PROGRAMS.search(content) is not None
