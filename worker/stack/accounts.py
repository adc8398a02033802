"""The unprivileged user that PostgreSQL runs as when we are root, because it refuses to run as root."""

import asyncio
import os
import pwd
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from worker.stack import programs
from workflows.domain.errors import UsageError
from workflows.domain.value import Value

STATE: Final = Path("/var/lib/holdfast")  # root's home is closed to that user


class Account(Value):
    """A user of this machine."""

    name: str
    uid: int
    gid: int


def mine() -> Account:
    """Who we are. Raises UsageError for a user id without a name: PostgreSQL would refuse it."""
    try:
        entry = pwd.getpwuid(os.geteuid())
    except KeyError:
        raise UsageError(
            f"User id {os.geteuid()} has no name here, and PostgreSQL needs one: add it to /etc/passwd, "
            "or set HOLDFAST_POSTGRES_URL to a server of your own."
        ) from None
    return _account(entry)


async def unprivileged(name: str, environment: Mapping[str, str]) -> Account:
    """The user `name`, made as a system user without home and shell if it does not exist. Raises UsageError."""
    trouble = "it is root"
    if (found := _find(name)) is None:
        trouble = await _create(name, environment)
        found = _find(name)
    if found is None or found.uid == 0:
        raise UsageError(
            f"PostgreSQL refuses to run as root, and a user {name!r} could not be made ({trouble}): make one, name "
            "another one by HOLDFAST_POSTGRES_USER, or set HOLDFAST_POSTGRES_URL to a server of your own."
        )
    return found


async def _create(name: str, environment: Mapping[str, str]) -> str:
    """Make the user; what the program says about it."""
    if useradd := programs.find("useradd", environment):
        argv = [useradd, "--system", "--no-create-home", "--home-dir", str(STATE), "--shell", "/usr/sbin/nologin", name]
    elif adduser := programs.find("adduser", environment):  # busybox
        argv = [adduser, "-S", "-D", "-H", "-h", str(STATE), name]
    else:
        return "there is neither `useradd` nor `adduser`"
    process = await asyncio.create_subprocess_exec(*argv, stdout=PIPE, stderr=STDOUT)
    said = (await process.communicate())[0].decode(errors="replace").strip()
    return said or f"{argv[0]} ended with {process.returncode}"  # another `up` may have been faster: the caller looks


def _find(name: str) -> Account | None:
    try:
        return _account(pwd.getpwnam(name))
    except KeyError:
        return None


def _account(entry: pwd.struct_passwd) -> Account:
    return Account(name=entry.pw_name, uid=entry.pw_uid, gid=entry.pw_gid)
