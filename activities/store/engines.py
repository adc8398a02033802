"""The one Temporal that runs a database's sessions. Two would run each session twice."""

from contextlib import suppress
from typing import Final

from activities.store.database import Database
from activities.store.hosts import WorkerLiveness
from activities.store.queries import Queries
from workflows.domain.errors import EngineTaken, SchemaMissing
from workflows.domain.value import Value

_QUERIES: Final = Queries("engines")


class EngineIdentity(Value):
    """A Temporal: `namespace` is its id of our namespace, `target` its name for people."""

    namespace: str
    target: str


class EngineHolder(WorkerLiveness):
    """The engine that holds the database."""

    namespace: str
    target: str


async def report_alive(database: Database, engine: EngineIdentity) -> None:
    """Raises EngineTaken."""
    noted = await database.rows(_QUERIES.report_alive, namespace=engine.namespace, target=engine.target)
    if not noted and (other := await _holder(database)) is not None:
        raise _taken(engine, other)


async def check_not_taken(database: Database, engine: EngineIdentity) -> None:
    """Raise EngineTaken if a worker of another engine is alive."""
    with suppress(SchemaMissing):  # no worker has prepared the database yet
        other = await _holder(database)
        if other is not None and other.working and other.namespace != engine.namespace:
            raise _taken(engine, other)


def _taken(engine: EngineIdentity, by: EngineHolder) -> EngineTaken:
    return EngineTaken(engine.target, by.target, by.address, by.silent_seconds)


async def _holder(database: Database) -> EngineHolder | None:
    rows = await database.rows(_QUERIES.holder)
    return EngineHolder(**rows[0]) if rows else None
