"""Numbered migrations: applied once, in order, under a lock. A database with other migrations is refused."""

from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Final

import psycopg

from activities.store.outages import translate_errors
from activities.store.pg_connect import connect
from workflows.domain.errors import Conflict, DatabaseForeign, DatabaseNewer, DatabaseOlder, UsageError

SCHEMA: Final = "holdfast"
_LOCK: Final = 0x686F6C64  # advisory lock: "hold"
_LIMIT: Final = 3600.0  # seconds for one statement, which may change a large table or wait for another migration


async def migrate(postgres_url: str) -> int:
    """Returns the schema's number. Raises DatabaseNewer, DatabaseForeign, UsageError for a role that may not."""
    try:
        return await _migrate(postgres_url, scripts())
    except psycopg.errors.InsufficientPrivilege as error:
        why = f"PostgreSQL refuses it ({error.diag.message_primary})"
        raise UsageError(f"{why}: our role has to own the database (ALTER DATABASE name OWNER TO role).") from error


async def _migrate(postgres_url: str, migrations: Sequence[bytes]) -> int:
    with translate_errors():
        async with await connect(postgres_url) as connection:
            connection.limit = _LIMIT
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            await connection.execute(
                f"CREATE TABLE IF NOT EXISTS {SCHEMA}.migration "
                "(number integer PRIMARY KEY, digest text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())"
            )
            current = await _applied_version(connection, migrations)
            if current > len(migrations):
                raise DatabaseNewer(current, len(migrations))
            await connection.execute(f"SET LOCAL search_path = {SCHEMA}")
            for number, script in enumerate(migrations[current:], start=current + 1):
                await connection.execute(script)
                await connection.execute(
                    "INSERT INTO migration (number, digest) VALUES (%s, %s)", [number, _digest(script)]
                )
    return len(migrations)


async def drop_empty_schema(postgres_url: str) -> None:
    """Make room for a dump. Raises Conflict for a database with sessions."""
    with translate_errors():
        async with await connect(postgres_url) as connection:
            connection.limit = _LIMIT
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            found = await (await connection.execute("SELECT to_regclass(%s)", [f"{SCHEMA}.session"])).fetchone()
            there = found is not None and found[0] is not None
            if there and (await connection.execute(f"SELECT FROM {SCHEMA}.session LIMIT 1")).rowcount:
                raise Conflict(
                    "There are sessions in this database, and a backup is restored into an empty one: name a new home "
                    "by HOLDFAST_HOME (a server of your own: a new database in HOLDFAST_POSTGRES_URL)."
                )
            await connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")


async def current_version(postgres_url: str) -> int:
    """The number of the newest migration; 0 for an empty database. Raises DatabaseForeign."""
    with translate_errors():
        async with await connect(postgres_url) as connection:
            return await _applied_version(connection, scripts())


async def require_current(postgres_url: str) -> None:
    """Raise DatabaseNewer, DatabaseOlder or DatabaseForeign unless the schema is this code's."""
    found, needed = await current_version(postgres_url), len(scripts())
    if found > needed:
        raise DatabaseNewer(found, needed)
    if found < needed:
        raise DatabaseOlder(found, needed)


def scripts() -> list[bytes]:
    folder = files("activities.store") / "migrations"
    return [script.read_bytes() for script in sorted(folder.iterdir(), key=lambda file: file.name)]


async def _applied_version(connection: psycopg.AsyncConnection, migrations: Sequence[bytes]) -> int:
    exists = await (await connection.execute("SELECT to_regclass(%s)", [f"{SCHEMA}.migration"])).fetchone()
    if exists is None or exists[0] is None:
        return 0
    # As JSON: a database from before the first release may have no digests.
    query = f"SELECT number, to_jsonb(migration) ->> 'digest' FROM {SCHEMA}.migration ORDER BY number"
    applied: dict[int, str | None] = dict(await (await connection.execute(query)).fetchall())
    for number, script in enumerate(migrations, start=1):
        if number in applied and applied[number] != _digest(script):
            raise DatabaseForeign(number)
    return max(applied, default=0)


def _digest(script: bytes) -> str:
    return sha256(script).hexdigest()
