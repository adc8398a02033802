"""The user that PostgreSQL runs as."""

import os
import pwd
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from worker.stack import accounts
from workflows.domain.errors import UsageError


async def test_root_is_never_the_unprivileged_user() -> None:
    with pytest.raises(UsageError, match="HOLDFAST_POSTGRES_USER"):
        await accounts.ensure_system_user("root", {})


async def test_a_user_that_exists_is_taken_as_it_is() -> None:
    assert (await accounts.ensure_system_user("nobody", {})).name == "nobody"


def test_we_are_who_we_are() -> None:
    assert accounts.current_account().uid == os.geteuid()


@pytest.fixture
def unknown() -> Iterator[str]:
    """The name of a missing user, who is gone after the test."""
    name = f"holdfast-made-{os.getpid()}"
    yield name
    if any(entry.pw_name == name for entry in pwd.getpwall()):
        subprocess.run(["/usr/sbin/userdel", name], check=True)


@pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/usr/sbin/useradd").exists(), reason="only root makes users, by useradd in /usr/sbin"
)
@pytest.mark.parametrize("path", ["/usr/bin:/bin", "/nowhere", None])
async def test_a_user_is_made_whatever_the_path(unknown: str, path: str | None) -> None:
    made = await accounts.ensure_system_user(unknown, {} if path is None else {"PATH": path})

    assert made.name == unknown and made.uid != 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes users")
async def test_why_a_user_could_not_be_made_is_said() -> None:
    with pytest.raises(UsageError, match=r"could not be made \(.*invalid user name"):
        await accounts.ensure_system_user("not a name", {})
