"""The git work tree that a directory belongs to: its root, its branch, and what its project is called."""

import hashlib
import stat
from pathlib import Path
from typing import Final

from activities.files.place import Place
from activities.git import git
from workflows.domain.parking import Whereabouts

_BRANCH: Final = "ref: refs/heads/"
_DETACHED: Final = "(no branch)"
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")


def place(directory: Path, *, data: Path, home: Path, temporary: Path) -> Place:
    """The place of a session that works in `directory`; all paths absolute and resolved."""
    here = directory.resolve()
    return Place(
        directory=here, worktree=root(here), data=data.resolve(), home=home.resolve(), temporary=temporary.resolve()
    )


def root(directory: Path) -> Path | None:
    """The nearest directory upwards that holds `.git`, a directory or the pointer of a linked work tree."""
    return next((folder for folder in (directory, *directory.parents) if (folder / ".git").exists()), None)


def branch(worktree: Path) -> str | None:
    """The branch that is checked out, None for a detached head or a broken repository."""
    try:
        head = (_git_directory(worktree) / "HEAD").read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return head.removeprefix(_BRANCH).strip() if head.startswith(_BRANCH) else None


def whereabouts(directory: Path) -> Whereabouts | None:
    """A directory as it is now; None where there is none."""
    try:
        found = directory.stat()
    except OSError:
        return None
    if not stat.S_ISDIR(found.st_mode):
        return None
    worktree = root(directory)
    named = (branch(worktree) or _DETACHED) if worktree else None
    return Whereabouts(boot=_boot(), device=found.st_dev, inode=found.st_ino, branch=named)


async def project_id(worktree: Path | None, directory: Path) -> str:
    """What grants of a project hold on to: its first commit, else the path where it lies.

    Walks the whole history: ask once for a session, not for each turn.
    """
    commits = await git(worktree, "rev-list", "--max-parents=0", "HEAD") if worktree else None
    if commits:
        return min(commits.split())
    return "path-" + hashlib.sha256(str(worktree or directory).encode("utf-8", "surrogateescape")).hexdigest()[:40]


def _git_directory(worktree: Path) -> Path:
    pointer = worktree / ".git"
    if pointer.is_dir():
        return pointer
    return worktree / pointer.read_text("utf-8").removeprefix("gitdir:").strip()


def _boot() -> str:
    """The boot of this machine; empty where the system does not tell."""
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return ""
