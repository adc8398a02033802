"""Databases for tests: a template with all migrations, and fresh copies of it."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg

from activities.store.migrate import migrate
from worker.settings import Settings
from worker.stack import cluster, locks
from worker.stack.cluster import ROLE, SUPERUSER, Cluster

_TEMPLATE: Final = "holdfast_template"


async def template(settings: Settings) -> Cluster:
    """The cluster of a running stack, with the template in it, made by whoever comes first."""
    found = await cluster.locate(settings)
    async with (
        locks.held(settings.home / "template.lock"),
        await psycopg.AsyncConnection.connect(found.url(SUPERUSER, "postgres"), autocommit=True) as connection,
    ):
        known = await connection.execute("SELECT FROM pg_database WHERE datname = %s", [_TEMPLATE])
        if known.rowcount == 0:
            await connection.execute(f"DROP DATABASE IF EXISTS {_TEMPLATE}_new WITH (FORCE)")
            await connection.execute(f"CREATE DATABASE {_TEMPLATE}_new OWNER {ROLE}")
            await migrate(found.url(ROLE, f"{_TEMPLATE}_new"))
            await connection.execute(f"ALTER DATABASE {_TEMPLATE}_new RENAME TO {_TEMPLATE}")
    return found


@contextmanager
def fresh(of: Cluster) -> Iterator[str]:
    """The address of a database of one's own, migrated and empty; it is gone after the block."""
    name = f"test_{uuid.uuid4().hex}"
    _administer(of, f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE} OWNER {ROLE}")
    try:
        yield of.url(ROLE, name)
    finally:
        _administer(of, f"DROP DATABASE {name} WITH (FORCE)")


def _administer(of: Cluster, statement: str) -> None:
    with psycopg.connect(of.url(SUPERUSER, "postgres"), autocommit=True) as connection:
        connection.execute(statement.encode())
