"""The git work tree of a directory."""

import hashlib
import stat
from pathlib import Path
from typing import Final

from activities.files.safe_open import read_whole
from activities.files.workspace import Workspace
from activities.git import git
from activities.own_thread import read_in_time
from workflows.domain.errors import ConfigError, ToolError
from workflows.domain.suspension import DirectoryIdentity, SuspendCause, SuspendReason, find_directory_change

_BRANCH: Final = "ref: refs/heads/"
_DETACHED: Final = "(no branch)"
PATH_PREFIX: Final = "path-"  # of the id of a project without commits
_MAX_POINTER: Final = 64 * 1024  # bytes
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")


def find_workspace(directory: Path, *, data: Path, home: Path, temporary: Path) -> Workspace:
    """Raises ConfigError for a directory that no record can name."""
    here = directory.resolve()
    if any("\ud800" <= each <= "\udfff" for each in str(here)):
        from activities.project.markdown_text import shown_path  # start-up time of commands

        raise ConfigError(f"{shown_path(here)}: the path of this directory is no UTF-8 text: rename it.")
    return Workspace(
        directory=here,
        worktree=find_root(here),
        data=data.resolve(),
        home=home.resolve(),
        temporary=temporary.resolve(),
    )


def find_root(directory: Path) -> Path | None:
    """The nearest directory upwards with a `.git` directory or file."""
    return next((folder for folder in (directory, *directory.parents) if (folder / ".git").exists()), None)


def current_branch(worktree: Path) -> str | None:
    """The current branch; None for a detached head or a broken repository."""
    try:
        head = _read(_git_directory(worktree) / "HEAD")
    except (ToolError, OSError, ValueError, RuntimeError):
        return None
    return head.removeprefix(_BRANCH).strip() if head.startswith(_BRANCH) else None


async def find_change(directory: str, was: DirectoryIdentity | None) -> SuspendCause | None:
    """How it differs from what it `was` after the last turn."""
    try:
        now = await find_identity(directory)
    except ConfigError:
        return SuspendCause(reason=SuspendReason.SILENT, was=directory)
    return find_directory_change(directory, was, now)


async def find_identity(directory: str) -> DirectoryIdentity | None:
    """None if it is gone. Raises ConfigError when its file system does not answer."""
    return await read_in_time(repr(directory), lambda: identify_directory(Path(directory)))


def identify_directory(directory: Path) -> DirectoryIdentity | None:
    """The directory's identity; None if it is gone."""
    try:
        found = directory.stat()
    except OSError:
        return None
    if not stat.S_ISDIR(found.st_mode):
        return None
    worktree = find_root(directory)
    named = (current_branch(worktree) or _DETACHED) if worktree else None
    return DirectoryIdentity(boot=_boot(), device=found.st_dev, inode=found.st_ino, branch=named)


async def project_id(worktree: Path | None, directory: Path) -> str:
    """The key of a project's grants: its first commit, else a hash of its path.

    Walks the whole history: call once per session, not per turn.
    """
    commits = await git(worktree, "rev-list", "--max-parents=0", "HEAD") if worktree else None
    if commits:
        return min(commits.split())
    return PATH_PREFIX + hashlib.sha256(str(worktree or directory).encode("utf-8", "surrogateescape")).hexdigest()[:40]


def _git_directory(worktree: Path) -> Path:
    pointer = worktree / ".git"
    if pointer.is_dir():
        return pointer
    return worktree / _read(pointer).removeprefix("gitdir:").strip()


def _read(file: Path) -> str:
    """Anything but a short file is refused without blocking."""
    return read_whole(file.resolve(strict=True), _MAX_POINTER).decode("utf-8")


def _boot() -> str:
    """Empty where the system has none."""
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return ""
