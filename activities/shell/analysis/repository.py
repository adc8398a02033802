"""Repository: whether the configuration of a git repository names programs that reading commands would run."""

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


def names_programs(root: Path) -> bool:
    """Whether the repository at `root` names programs itself; one that cannot be looked at may."""
    try:
        return any(_names(each) for each in _configurations(root / ".git"))
    except (OSError, ValueError):
        return True


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
