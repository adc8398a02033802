"""The one Temporal that runs a database's sessions. Two would run each session twice."""

from contextlib import suppress
from typing import Final

from activities.store.database import Database
from activities.store.hosts import WorkerLiveness
from activities.store.outages import SchemaMissing
from activities.store.queries import Queries
from workflows.domain.errors import UsageError
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


class EngineTaken(UsageError):
    """Workers of another Temporal run the sessions of this database."""

    def __init__(self, engine: EngineIdentity, other: EngineHolder) -> None:
        where = "" if other.address is None else f" from {other.address}"
        super().__init__(
            f"This database's sessions are run by another Temporal, {other.target}: {other.silent_seconds:.0f} s ago "
            f"there was a worker of it{where}. With {engine.target} as well each would run twice. Name that one by "
            "TEMPORAL_ADDRESS here, too, or another database in HOLDFAST_POSTGRES_URL. When its workers have gone for "
            "good, the database is free 15 s later."
        )


async def report_alive(database: Database, engine: EngineIdentity) -> None:
    """Raises EngineTaken."""
    noted = await database.rows(_QUERIES.report_alive, namespace=engine.namespace, target=engine.target)
    if not noted and (other := await _holder(database)) is not None:
        raise EngineTaken(engine, other)


async def check_not_taken(database: Database, engine: EngineIdentity) -> None:
    """Raise EngineTaken if a worker of another engine is alive."""
    with suppress(SchemaMissing):  # no worker has prepared the database yet
        other = await _holder(database)
        if other is not None and other.working and other.namespace != engine.namespace:
            raise EngineTaken(engine, other)


async def _holder(database: Database) -> EngineHolder | None:
    rows = await database.rows(_QUERIES.holder)
    return EngineHolder(**rows[0]) if rows else None
