"""Numbered migrations: applied once, in order, under a lock; a database newer than the code is refused."""

from importlib.resources import files
from typing import Final

import psycopg

from activities.store.database import reaching
from workflows.domain.errors import HoldfastError

SCHEMA: Final = "holdfast"
_LOCK: Final = 0x686F6C64  # advisory lock: "hold"


class DatabaseNewer(HoldfastError):
    """The database was migrated by a newer Holdfast than this one."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(
            f"The database is at migration {found}, this Holdfast knows migrations up to {known}. "
            "Run the newer Holdfast, or restore a backup made before the upgrade."
        )


async def migrate(postgres_url: str) -> int:
    """Bring the database up to this code's schema; returns its number.

    Raises DatabaseNewer when the database is ahead, Unavailable when it cannot be reached.
    """
    migrations = known()
    with reaching():
        async with await psycopg.AsyncConnection.connect(postgres_url) as connection:
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            current = await _current(connection)
            if current > len(migrations):
                raise DatabaseNewer(current, len(migrations))
            await connection.execute(f"SET LOCAL search_path = {SCHEMA}")
            for number, script in enumerate(migrations[current:], start=current + 1):
                await connection.execute(script)
                await connection.execute("INSERT INTO migration (number) VALUES (%s)", [number])
    return len(migrations)


async def current_version(postgres_url: str) -> int:
    """The number of the database's newest migration, 0 for an empty one."""
    with reaching():
        async with await psycopg.AsyncConnection.connect(postgres_url) as connection:
            return await _current(connection, create=False)


def known() -> list[bytes]:
    """The scripts of all migrations; the index is the number less one."""
    folder = files("activities.store") / "migrations"
    return [script.read_bytes() for script in sorted(folder.iterdir(), key=lambda file: file.name)]


async def _current(connection: psycopg.AsyncConnection, *, create: bool = True) -> int:
    if create:
        await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        await connection.execute(
            f"CREATE TABLE IF NOT EXISTS {SCHEMA}.migration "
            "(number integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
        )
    exists = await (await connection.execute("SELECT to_regclass(%s)", [f"{SCHEMA}.migration"])).fetchone()
    if exists is None or exists[0] is None:
        return 0
    row = await (await connection.execute(f"SELECT coalesce(max(number), 0) FROM {SCHEMA}.migration")).fetchone()
    return int(row[0]) if row else 0
