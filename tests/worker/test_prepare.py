"""Preparing servers that run elsewhere."""

import os
import subprocess
import sys

import psycopg
import pytest

from activities.store.migrate import current_version, known
from worker.prepare import prepare
from worker.settings import Settings
from worker.stack.state import Endpoints
from workflows.domain.errors import Unavailable, UsageError


@pytest.fixture
def empty_url(postgres_url: str) -> str:
    """A database in which nobody has prepared anything."""
    with psycopg.connect(postgres_url) as connection:
        connection.execute("DROP SCHEMA holdfast CASCADE")
    return postgres_url


async def test_an_empty_database_is_migrated_and_may_be_prepared_again(empty_url: str, stack: Endpoints) -> None:
    named = {"HOLDFAST_POSTGRES_URL": empty_url, "TEMPORAL_ADDRESS": stack.temporal_address}
    program = [sys.executable, "-P", "-m", "worker.prepare"]

    ended = [subprocess.run(program, env=dict(os.environ) | named, check=False).returncode for _ in range(2)]

    assert ended == [0, 0]
    assert await current_version(empty_url) == len(known())


async def test_without_external_servers_there_is_nothing_to_prepare() -> None:
    with pytest.raises(UsageError, match="TEMPORAL_ADDRESS"):
        await prepare(Settings.read({"HOME": "/nowhere"}))


async def test_a_server_that_is_not_there_is_named(empty_url: str) -> None:
    nowhere = {"HOME": "/nowhere", "HOLDFAST_POSTGRES_URL": empty_url, "TEMPORAL_ADDRESS": "127.0.0.1:9"}

    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:9"):
        await prepare(Settings.read(nowhere))


async def test_a_database_that_may_lose_what_it_acknowledged_is_left_alone(empty_url: str, stack: Endpoints) -> None:
    with psycopg.connect(empty_url) as connection:
        connection.execute(f"ALTER DATABASE {connection.info.dbname} SET synchronous_commit = off")
    named = {"HOME": "/nowhere", "HOLDFAST_POSTGRES_URL": empty_url, "TEMPORAL_ADDRESS": stack.temporal_address}

    with pytest.raises(UsageError, match="synchronous_commit=off"):
        await prepare(Settings.read(named))

    assert await current_version(empty_url) == 0
