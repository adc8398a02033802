"""Hosts: machines, or groups with one file system, and their workers' liveness."""

from contextlib import suppress
from typing import Final

from activities.store.database import Database
from activities.store.queries import Queries
from workflows.domain.errors import HostTaken, SchemaMissing
from workflows.domain.value import Value

HEARTBEAT_INTERVAL: Final = 5.0  # seconds between a worker's reports; after three missed ones its host is offline
_QUERIES: Final = Queries("hosts")


class Host(Value):
    """`working`: has a live worker. `sessions`: how many have something to do there."""

    name: str
    working: bool
    machine: str | None
    sessions: int


class WorkerLiveness(Value):
    """The last report of workers from `address` (None: the database's own machine). `working`: recent enough to count
    as alive."""

    address: str | None
    working: bool
    silent_seconds: float


class HostHolder(WorkerLiveness):
    """The machine that has a host's name."""

    name: str
    machine: str | None


async def report_alive(database: Database, name: str, machine: str) -> None:
    """Raises HostTaken."""
    noted = await database.rows(_QUERIES.report_alive, name=name, machine=machine)
    if not noted and (holder := await _holder(database, name)) is not None:
        raise HostTaken(holder.name, holder.address, holder.silent_seconds)


async def check_not_taken(database: Database, name: str, machine: str | None) -> None:
    """Raise HostTaken if a worker of another machine is alive; None: this machine has no id yet."""
    with suppress(SchemaMissing):  # commands may be newer than the database
        holder = await _holder(database, name)
        if holder is not None and holder.working and holder.machine not in (None, machine):
            raise HostTaken(holder.name, holder.address, holder.silent_seconds)


async def _holder(database: Database, name: str) -> HostHolder | None:
    rows = await database.rows(_QUERIES.holder, name=name)
    return HostHolder(**rows[0]) if rows else None


async def list_all(database: Database) -> list[Host]:
    """The hosts that workers or sessions name; none in an unprepared database."""
    try:
        return [Host(**row) for row in await database.rows(_QUERIES.list_all)]
    except SchemaMissing:
        return []
