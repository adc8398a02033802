"""Test databases: a template with all migrations, and empty copies of it."""

import atexit
import uuid
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

import psycopg

from activities.store.migrate import migrate
from worker.settings import Settings
from worker.stack import cluster, locks
from worker.stack.cluster import ROLE, SUPERUSER, Cluster

_TEMPLATE: Final = "holdfast_template"
_LEAVE: Final = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '{}'"

# All but rows: what a test may have changed in the schema or the database's settings.
_SCHEMA: Final = """
SELECT md5(concat_ws(' ',
    (SELECT string_agg(xmin::text, ' ' ORDER BY oid) FROM pg_proc),
    (SELECT string_agg(concat(oid, tgname, tgfoid, tgenabled), ' ' ORDER BY oid) FROM pg_trigger),
    (SELECT string_agg(xmin::text, ' ' ORDER BY oid) FROM pg_constraint),
    (SELECT string_agg(xmin::text, ' ' ORDER BY oid) FROM pg_namespace),
    (SELECT string_agg(xmin::text, ' ' ORDER BY attrelid, attnum) FROM pg_attribute),
    (SELECT string_agg(concat(oid, relname, relpersistence, reloptions, relacl), ' ' ORDER BY oid) FROM pg_class),
    (SELECT string_agg(setconfig::text, ' ') FROM pg_db_role_setting
        JOIN pg_database ON pg_database.oid = setdatabase WHERE datname = current_database()),
    (SELECT string_agg(migration::text, ' ' ORDER BY migration) FROM holdfast.migration)))
"""
_WRITTEN: Final = """
SELECT string_agg(oid::regclass::text, ', ') FROM pg_class
WHERE relnamespace = 'holdfast'::regnamespace AND relkind = 'r' AND relname <> 'migration' AND pg_relation_size(oid) > 0
"""
_REMOVE: Final = """
ALTER TABLE holdfast.event DISABLE TRIGGER event_no_truncate;
TRUNCATE {} RESTART IDENTITY CASCADE;
ALTER TABLE holdfast.event ENABLE ALWAYS TRIGGER event_no_truncate
"""


class _UsedDatabase(NamedTuple):
    """A database that a test has left, and its former schema."""

    name: str
    schema: str


_ADMINISTRATORS: Final[dict[Cluster, psycopg.Connection]] = {}  # this process's
_USED: Final[defaultdict[Cluster, list[_UsedDatabase]]] = defaultdict(list)  # by this process


async def template(settings: Settings) -> Cluster:
    """A running stack's cluster with the template, made on first use."""
    found = await cluster.locate(settings)
    async with (
        locks.hold(settings.home / "template.lock"),
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
def new_database(of: Cluster) -> Iterator[str]:
    """The address of an own database, migrated and empty, under a new name.

    It may be an earlier test's: emptying one takes a tenth of the time of making one.
    """
    database = _reuse(of) or _create(of)
    try:
        yield of.url(ROLE, database.name)
    finally:
        _USED[of].append(database)


def _create(of: Cluster) -> _UsedDatabase:
    name = _new_name()
    _administer(of, f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE} OWNER {ROLE}")
    with psycopg.connect(of.url(SUPERUSER, name)) as connection:
        return _UsedDatabase(name, _schema(connection))


def _reuse(of: Cluster) -> _UsedDatabase | None:
    """A used database, emptied and renamed; None if there is none, or its schema was changed."""
    if not _USED[of]:
        return None
    used, name = _USED[of].pop(), _new_name()
    with suppress(psycopg.Error):  # it is in use again, or has no schema
        _administer(of, _LEAVE.format(used.name), f"ALTER DATABASE {used.name} RENAME TO {name}")
        if _empty(of, name, used.schema):
            return _UsedDatabase(name, used.schema)
    _administer(of, *(f"DROP DATABASE IF EXISTS {each} WITH (FORCE)" for each in (used.name, name)))
    return None


def _empty(of: Cluster, name: str, schema: str) -> bool:
    """Remove all rows and statistics; whether the schema is as it was."""
    with psycopg.connect(of.url(SUPERUSER, name)) as connection:
        if _schema(connection) != schema:
            return False
        connection.execute("SET session_replication_role = replica")
        connection.execute("SET synchronous_commit = off")
        written = connection.execute(_WRITTEN).fetchone()
        if written is not None and written[0] is not None:
            connection.execute(_REMOVE.format(written[0]).encode())
        connection.execute("SELECT pg_stat_reset()")
        return True


def _schema(connection: psycopg.Connection) -> str:
    found = connection.execute(_SCHEMA).fetchone()
    assert found is not None
    return str(found[0])


def _new_name() -> str:
    return f"test_{uuid.uuid4().hex}"


def _administer(of: Cluster, *statements: str) -> None:
    """By one connection for all: each costs the server 30 ms."""
    connection = _ADMINISTRATORS.get(of)
    if connection is None or connection.closed:  # its server has ended since
        connection = _ADMINISTRATORS[of] = psycopg.connect(of.url(SUPERUSER, "postgres"), autocommit=True)
        atexit.register(connection.close)
    for statement in statements:
        connection.execute(statement.encode())
