"""The sessions that the bench of sweeps writes are rows as the product has them."""

from psycopg import Rollback

from activities.store.database import Database
from activities.store.queries import Queries
from bench.sweep import seed


async def test_of_the_seeded_sessions_none_is_due(postgres_url: str) -> None:
    due = None
    async with Database(postgres_url) as database, database.transaction() as connection:
        await seed(connection, resting=3, waiting=1)
        due = await (await connection.execute(Queries("reconcile").due, {"quiet": 30.0})).fetchall()
        raise Rollback

    assert due == []
