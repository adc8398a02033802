"""The unprivileged user for PostgreSQL, which refuses to run as root."""

import os
import pwd
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from worker.stack import child_programs
from workflows.domain.errors import UsageError
from workflows.domain.value import Value

SYSTEM_STATE: Final = Path("/var/lib/holdfast")  # that user cannot enter root's home


class Account(Value):
    name: str
    uid: int
    gid: int


def current_account() -> Account:
    """Raises UsageError for a user id without a name, which PostgreSQL refuses."""
    try:
        entry = pwd.getpwuid(os.geteuid())
    except KeyError:
        raise UsageError(
            f"User id {os.geteuid()} has no name here, and PostgreSQL needs one: add it to /etc/passwd, "
            "or set HOLDFAST_POSTGRES_URL to a server of your own."
        ) from None
    return _account(entry)


async def ensure_system_user(name: str, environment: Mapping[str, str]) -> Account:
    """The system user `name`, without home or shell, created if missing. Raises UsageError."""
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
    home = str(SYSTEM_STATE)
    if useradd := child_programs.find("useradd", environment):
        argv = [useradd, "--system", "--no-create-home", "--home-dir", home, "--shell", "/usr/sbin/nologin", name]
    elif adduser := child_programs.find("adduser", environment):  # busybox
        argv = [adduser, "-S", "-D", "-H", "-h", home, name]
    else:
        return "there is neither `useradd` nor `adduser`"
    code, output = await child_programs.run(*argv, environment=environment)
    return output or f"{argv[0]} ended with {code}"  # another `up` may have won: the caller checks


def _find(name: str) -> Account | None:
    try:
        return _account(pwd.getpwnam(name))
    except KeyError:
        return None


def _account(entry: pwd.struct_passwd) -> Account:
    return Account(name=entry.pw_name, uid=entry.pw_uid, gid=entry.pw_gid)
