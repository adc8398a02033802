"""Whom PostgreSQL runs as."""

import os

import pytest

from worker.stack import accounts
from workflows.domain.errors import UsageError


async def test_root_is_never_the_unprivileged_user() -> None:
    with pytest.raises(UsageError, match="HOLDFAST_POSTGRES_USER"):
        await accounts.unprivileged("root")


async def test_a_user_that_exists_is_taken_as_it_is() -> None:
    assert (await accounts.unprivileged("nobody")).name == "nobody"


def test_we_are_who_we_are() -> None:
    assert accounts.mine().uid == os.geteuid()
