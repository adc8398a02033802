"""Migrations: from an empty database, once, and never backwards."""

import asyncio
import uuid
from collections.abc import Iterator
from urllib.parse import urlsplit

import psycopg
import pytest

from activities.store.migrate import current_version, migrate, require_current, scripts
from worker.stack.cluster import ROLE, SUPERUSER, Cluster
from workflows.domain.errors import DatabaseForeign, DatabaseNewer, DatabaseOlder, Unavailable, UsageError


@pytest.fixture
def empty_url(template: Cluster) -> Iterator[str]:
    """An empty database."""
    name = f"empty_{uuid.uuid4().hex}"
    with psycopg.connect(template.url(SUPERUSER, "postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} OWNER {ROLE}")
        yield template.url(ROLE, name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


async def test_an_empty_database_is_migrated(empty_url: str) -> None:
    assert await current_version(empty_url) == 0
    with pytest.raises(DatabaseOlder, match="at migration 0, .* `python -P -m worker.prepare`"):
        await require_current(empty_url)
    assert await migrate(empty_url) == len(scripts())
    assert await current_version(empty_url) == len(scripts())
    await require_current(empty_url)


async def test_concurrent_migrations_apply_once(empty_url: str) -> None:
    assert await asyncio.gather(*(migrate(empty_url) for _ in range(4))) == [len(scripts())] * 4


async def test_a_newer_database_is_refused_and_left_alone(empty_url: str) -> None:
    await migrate(empty_url)
    async with await psycopg.AsyncConnection.connect(empty_url) as connection:
        await connection.execute("INSERT INTO holdfast.migration VALUES (99, 'of tomorrow')")
    for door in (migrate, require_current):
        with pytest.raises(DatabaseNewer, match="at migration 99"):
            await door(empty_url)


@pytest.mark.parametrize("made", [False, True], ids=["empty", "of another role"])
async def test_a_database_of_another_role_is_refused_in_words(template: Cluster, empty_url: str, made: bool) -> None:
    name = urlsplit(empty_url).path.removeprefix("/")
    if made:
        await migrate(template.url(SUPERUSER, name))
    else:
        with psycopg.connect(template.url(SUPERUSER, "postgres"), autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {name} OWNER TO {SUPERUSER}")
    with pytest.raises(UsageError, match="has to own the database"):
        await migrate(empty_url)


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE holdfast.migration SET digest = 'another' WHERE number = 1",
        "ALTER TABLE holdfast.migration DROP COLUMN digest",
    ],
)
async def test_a_database_with_another_migration_of_the_same_number_is_refused(empty_url: str, edit: str) -> None:
    await migrate(empty_url)
    async with await psycopg.AsyncConnection.connect(empty_url) as connection:
        await connection.execute(edit.encode())
    for door in (migrate, current_version, require_current):
        with pytest.raises(DatabaseForeign, match="its migration 1 differs from ours"):
            await door(empty_url)


async def test_a_database_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="cannot be reached"):
        await migrate("postgresql://nobody@127.0.0.1:1/none")
