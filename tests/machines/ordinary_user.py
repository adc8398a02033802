"""An ordinary user for one run of tests: root has more rights, so its runs prove less."""

import asyncio
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from tests.machines.pythons import ROOT, UV, Python
from worker.stack import accounts, child_programs
from workflows.domain.errors import UsageError

_NAME: Final = re.compile(r"holdfast-tests-(\d+)")  # and the process that made the user
_NOT_COPIED: Final = shutil.ignore_patterns(".git", ".uv", ".venv*", ".*_cache", ".hypothesis", "__pycache__")


@dataclass(frozen=True)
class User:
    """A user of this machine with a home."""

    name: str
    uid: int
    gid: int
    home: Path

    def environment(self) -> dict[str, str]:
        """The environment of the user's processes: of root's, only PATH and how to fetch packages."""
        kept = {name: value for name, value in os.environ.items() if name == "PATH" or name.startswith(("UV_", "LANG"))}
        folders = {
            "HOME": self.home,
            "TMPDIR": self.home / "tmp",
            "HYPOTHESIS_STORAGE_DIRECTORY": self.home / "examples",
        }
        own = {"USER": self.name, "LOGNAME": self.name, "PYTHONDONTWRITEBYTECODE": "1"}
        return {**kept, **own, **{name: str(path) for name, path in folders.items()}}

    def command(self, *words: str | Path) -> list[str | Path]:
        """The command as this user."""
        identity = ("--reuid", str(self.uid), "--regid", str(self.gid), "--clear-groups")
        return [child_programs.find("setpriv", os.environ) or "setpriv", *identity, *words]

    def can(self, *words: str | Path) -> bool:
        """Whether a command succeeds as this user in the checkout."""
        enter = ("sh", "-c", 'cd "$0" && exec "$@"', ROOT)
        return subprocess.run(self.command(*enter, *words), env={"HOME": "/"}, capture_output=True).returncode == 0


@dataclass(frozen=True)
class UserProject:
    """A checkout, and the environment of its tests."""

    root: Path
    environment: Path

    def python(self) -> str:
        """Its Python's name and version."""
        command: list[str | Path] = [self.environment / "bin" / "python", "--version"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def create_user() -> Iterator[User]:
    """A new user; its processes, files and itself are removed at the end. Raises UsageError."""
    if child_programs.find("setpriv", os.environ) is None:
        raise UsageError("there is no `setpriv` (of util-linux) to start programs as somebody else")
    for entry in pwd.getpwall():  # of runs that were killed
        if (known := _NAME.fullmatch(entry.pw_name)) is not None and not psutil.pid_exists(int(known[1])):
            _remove(entry.pw_name, entry.pw_uid)
    account = asyncio.run(accounts.ensure_system_user(f"holdfast-tests-{os.getpid()}", os.environ))
    home = Path(tempfile.mkdtemp(prefix="holdfast-"))
    user = User(account.name, account.uid, account.gid, home)
    try:
        (home / "tmp").mkdir()
        _give(user, home)
        yield user
    finally:
        _remove(user.name, user.uid)
        shutil.rmtree(home, ignore_errors=True)


def project_for(user: User, environment: Path, pythons: Sequence[Python]) -> UserProject | None:
    """A checkout and an environment for this user; None if no Python can be started.

    They are this one and `environment` if all directories above them are open, else both are made in the user's home.
    """
    if user.can(environment / "bin" / "python", "-c", "import tests.harness"):
        return UserProject(ROOT, environment)
    for python in pythons:
        if subprocess.run(user.command(python.path, "-c", ""), cwd="/", env={}, capture_output=True).returncode == 0:
            copy = user.home / "project"
            shutil.copytree(ROOT, copy, ignore=_NOT_COPIED, symlinks=True)
            own = {"UV_PROJECT_ENVIRONMENT": str(copy / ".venv"), "UV_LINK_MODE": "copy"}
            command: list[str | Path] = [UV, "sync", "--quiet", "--locked", "--python", python.path]
            subprocess.run(command, cwd=copy, env={**os.environ, **own}, check=True)
            _give(user, copy)
            return UserProject(copy, copy / ".venv")
    return None


def _give(user: User, directory: Path) -> None:
    for path in (directory, *directory.rglob("*")):
        os.chown(path, user.uid, user.gid, follow_symlinks=False)


def _remove(name: str, uid: int) -> None:
    for process in psutil.process_iter(["uids"]):
        if process.info["uids"] is not None and process.info["uids"].real == uid:
            with suppress(psutil.NoSuchProcess):
                process.kill()
                process.wait(10)
    if (
        userdel := child_programs.find("userdel", os.environ) or child_programs.find("deluser", os.environ)
    ) is not None:
        subprocess.run([userdel, name], check=False)  # the next run tries again
