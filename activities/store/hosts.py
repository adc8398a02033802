"""Hosts: the machines, or whatever shares one file system, that sessions work on; and whether a worker is there."""

from contextlib import suppress
from datetime import datetime
from typing import Final

from activities.store.database import Database
from activities.store.outages import Unprepared
from activities.store.queries import Queries
from workflows.domain.errors import UsageError
from workflows.domain.value import Value

EVERY: Final = 5.0  # seconds between two signs of life of a worker: three may be missed before its host counts as away
_QUERIES: Final = Queries("hosts")


class Host(Value):
    """A host; `working`: one of its workers was there just now. `sessions` have work there."""

    name: str
    working: bool
    seen_at: datetime | None
    machine: str | None
    sessions: int


class Sign(Value):
    """The last sign of life of some workers, given `silent` seconds ago from `address` (None: from the database's own
    machine); `working`: so lately that one of them counts as being there."""

    address: str | None
    working: bool
    silent: float


class Holder(Sign):
    """Whose a host is: `machine` is the data directory of its workers."""

    name: str
    machine: str | None


class HostTaken(UsageError):
    """Workers of another data directory have this host's name: the files of its sessions are not ours."""

    def __init__(self, holder: Holder) -> None:
        where = "" if holder.address is None else f" at {holder.address}"
        super().__init__(
            f"Host {holder.name!r} is another machine's: {holder.silent:.0f} s ago there was a worker{where} which has "
            "that name and another data directory. Sessions of that host would be worked on by either, and their files "
            "are there. Give this machine a name of its own by HOLDFAST_HOST, or have both share the work trees and "
            "HOLDFAST_HOME. When that worker has gone for good, the name is free 15 s later."
        )


async def seen(database: Database, name: str, machine: str) -> None:
    """Note that a worker of this host is there, whose data directory is `machine`. Raises HostTaken."""
    noted = await database.rows(_QUERIES.seen, name=name, machine=machine)
    if not noted and (holder := await _holder(database, name)) is not None:
        raise HostTaken(holder)


async def must_not_be_taken(database: Database, name: str, machine: str | None) -> None:
    """Raise HostTaken where a worker with another data directory than `machine` is there; None is one without name."""
    with suppress(Unprepared):  # commands may be newer than the database
        holder = await _holder(database, name)
        if holder is not None and holder.working and holder.machine not in (None, machine):
            raise HostTaken(holder)


async def _holder(database: Database, name: str) -> Holder | None:
    rows = await database.rows(_QUERIES.holder, name=name)
    return Holder(**rows[0]) if rows else None


async def listed(database: Database) -> list[Host]:
    """The hosts that workers or sessions have named; none where nobody has prepared the database yet."""
    try:
        return [Host(**row) for row in await database.rows(_QUERIES.listed)]
    except Unprepared:
        return []
