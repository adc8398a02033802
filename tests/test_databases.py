"""Test databases are empty and new for each user."""

from pathlib import Path

import psycopg
import pytest

from activities.store.database import Database
from tests import databases
from tests.activities.rig import open_rig
from worker.stack.cluster import SUPERUSER, Cluster


def name(url: str) -> str:
    return str(psycopg.conninfo.conninfo_to_dict(url)["dbname"])


def number(of: Cluster, database: str) -> int:
    """A database's identity, independent of its name."""
    with psycopg.connect(of.url(SUPERUSER, database)) as connection:
        found = connection.execute("SELECT oid FROM pg_database WHERE datname = current_database()").fetchone()
    assert found is not None
    return int(found[0])


def rows(url: str) -> int:
    with psycopg.connect(url) as connection:
        counted = connection.execute(
            "SELECT (SELECT count(*) FROM holdfast.event) + (SELECT count(*) FROM holdfast.session)"
        ).fetchone()
    assert counted is not None
    return int(counted[0])


async def test_a_database_is_used_again_without_its_rows_and_under_another_name(
    template: Cluster, tmp_path: Path
) -> None:
    with databases.new_database(template) as first:
        known = number(template, name(first))
        async with Database(first) as database:
            await (await open_rig(database, tmp_path)).open_turn()
        assert rows(first) > 1
    left = psycopg.connect(first)
    with databases.new_database(template) as second:
        assert (number(template, name(second)), rows(second)) == (known, 0) and name(first) != name(second)
        with pytest.raises(psycopg.OperationalError, match="terminat"):
            left.execute("SELECT 1")
        with pytest.raises(psycopg.OperationalError, match="does not exist"):
            psycopg.connect(first)
        with psycopg.connect(second) as connection, pytest.raises(psycopg.errors.RaiseException, match="append-only"):
            connection.execute("TRUNCATE holdfast.event CASCADE")
    with databases.new_database(template) as third:
        assert number(template, name(third)) == known
    left.close()


@pytest.mark.parametrize(
    "change",
    [
        "DROP TABLE holdfast.host",
        "DROP SCHEMA holdfast CASCADE",
        "CREATE TABLE holdfast.more ()",
        "ALTER TABLE holdfast.event DISABLE TRIGGER USER",
        "ALTER TABLE holdfast.host ADD COLUMN more int",
        "CREATE FUNCTION holdfast.more() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "DELETE FROM holdfast.migration",
        "ALTER DATABASE {} SET synchronous_commit = off",
        "ALTER DATABASE {} SET default_transaction_read_only = on",
    ],
)
def test_a_database_whose_schema_or_settings_were_changed_is_not_used_again(template: Cluster, change: str) -> None:
    with databases.new_database(template) as first:
        known = number(template, name(first))
        with psycopg.connect(first, autocommit=True) as connection:
            connection.execute(change.format(name(first)).encode())
    with databases.new_database(template) as second:
        assert number(template, name(second)) != known and rows(second) == 0
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(first)
