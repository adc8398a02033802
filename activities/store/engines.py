"""The engine of a database: the one Temporal that runs its sessions, which two would run twice."""

from contextlib import suppress
from typing import Final

from activities.store.database import Database
from activities.store.hosts import Sign
from activities.store.outages import Unprepared
from activities.store.queries import Queries
from workflows.domain.errors import UsageError
from workflows.domain.value import Value

_QUERIES: Final = Queries("engines")


class Engine(Value):
    """A Temporal: `namespace` is the id that it has given to ours, `target` what people call it."""

    namespace: str
    target: str


class Holder(Sign):
    """Whose the database is: an engine, by the last sign of its workers."""

    namespace: str
    target: str


class EngineTaken(UsageError):
    """Workers of another Temporal run the sessions of this database."""

    def __init__(self, engine: Engine, other: Holder) -> None:
        where = "" if other.address is None else f" from {other.address}"
        super().__init__(
            f"The sessions of this database are run by another Temporal, {other.target}: {other.silent:.0f} s ago "
            f"there was a worker of it{where}. With {engine.target} as well each would run twice. Name that one by "
            "TEMPORAL_ADDRESS here, too, or another database in HOLDFAST_POSTGRES_URL. When its workers have gone for "
            "good, the database is free 15 s later."
        )


async def seen(database: Database, engine: Engine) -> None:
    """Note that a worker of this engine is there. Raises EngineTaken, Unavailable."""
    noted = await database.rows(_QUERIES.seen, namespace=engine.namespace, target=engine.target)
    if not noted and (other := await _holder(database)) is not None:
        raise EngineTaken(engine, other)


async def must_not_be_taken(database: Database, engine: Engine) -> None:
    """Raise EngineTaken where a worker of another engine is there."""
    with suppress(Unprepared):  # nobody has worked with it yet
        other = await _holder(database)
        if other is not None and other.working and other.namespace != engine.namespace:
            raise EngineTaken(engine, other)


async def _holder(database: Database) -> Holder | None:
    rows = await database.rows(_QUERIES.holder)
    return Holder(**rows[0]) if rows else None
