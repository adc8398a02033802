"""Preparing external servers."""

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from activities.store.migrate import current_version, scripts
from worker.prepare import prepare
from worker.settings import Settings
from worker.stack.state_file import Endpoints
from workflows.domain.errors import Unavailable, UsageError


@pytest.fixture
def empty_url(postgres_url: str) -> str:
    """An unprepared database."""
    with psycopg.connect(postgres_url) as connection:
        connection.execute("DROP SCHEMA holdfast CASCADE")
    return postgres_url


async def test_an_empty_database_has_to_be_prepared_before_workers_start_and_may_be_again(
    empty_url: str, stack: Endpoints, tmp_path: Path
) -> None:
    named = {"HOLDFAST_POSTGRES_URL": empty_url, "TEMPORAL_ADDRESS": stack.temporal_address}
    environment = {**os.environ, **named, "HOLDFAST_HOME": str(tmp_path)}
    programs = [[sys.executable, "-P", "-m", f"worker.{name}"] for name in ("serve", "prepare", "prepare")]

    ended = [subprocess.run(each, env=environment, check=False, capture_output=True, text=True) for each in programs]

    assert [each.returncode for each in ended] == [3, 0, 0] and "python -P -m worker.prepare" in ended[0].stderr
    assert await current_version(empty_url) == len(scripts())


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
