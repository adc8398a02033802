"""Servers that run elsewhere, as far as they can be seen from here: whether they answer, and who works."""

import asyncio
import re
from typing import Final

from activities.store import engines, hosts, server
from activities.store.database import Database
from activities.store.hosts import Host
from activities.store.outages import Unreachable
from worker import machine
from worker.settings import Settings
from worker.stack.state import Endpoints, PartName
from worker.stack.status import HostStatus, ServerStatus, StackStatus, external, status
from workflows.domain.errors import Unavailable, UsageError

_PATIENCE: Final = 10  # seconds for Temporal to answer
_PATCHED: Final = {28: 4, 29: 6, 30: 4}  # of Temporal 1: the first patch without known holes, by minor (security.md 9)
_RELEASED: Final = re.compile(r"1\.(\d+)\.(\d+)")
_SOON: Final = 4.0  # seconds for a connection to the database


async def looked(settings: Settings) -> StackStatus:
    """The stack with its external servers: it serves when they do, and somebody works, here or elsewhere."""
    here = status(settings)
    found = []
    if settings.postgres_url is not None:
        found.append(await postgres(settings.postgres_url))
    if settings.external_temporal is not None:
        found.append(await temporal(settings, settings.external_temporal))
    known = await hosts_of(settings)
    begun = here.serving or (external(settings) is not None and not settings.worker)
    ours = any(
        part.name == PartName.WORKER and part.pid is not None for part in here.parts
    )  # it may not have asked yet
    worked = ours or all(each.workers != 0 for each in found) or any(host.working for host in known)
    serving = begun and worked and all(each.trouble is None for each in found) and not any(host.taken for host in known)
    return here.model_copy(update={"servers": tuple(found), "hosts": known, "serving": serving})


async def hosts_of(settings: Settings) -> tuple[HostStatus, ...]:
    """The hosts of an external database's sessions and workers; none where it does not answer, or is not prepared."""
    if settings.postgres_url is None:
        return ()
    try:
        async with Database(settings.postgres_url, size=1, patience=_SOON) as database:
            found = await hosts.listed(database)
    except (Unavailable, UsageError):
        return ()
    return tuple(_host(each, settings) for each in found)


def _host(found: Host, settings: Settings) -> HostStatus:
    ours = settings.worker and found.name == settings.host and found.machine is not None
    taken = ours and found.working and found.machine != machine.known(settings.home)
    return HostStatus(name=found.name, working=found.working, sessions=found.sessions, taken=taken)


async def postgres(url: str) -> ServerStatus:
    """How the PostgreSQL at this address is."""
    where = server.address(url)
    try:
        found = await server.look(url)
    except Unreachable as error:  # status and doctor say what to do beside it
        return ServerStatus(name="postgres", address=where, trouble=error.bare)
    except Unavailable as error:
        return ServerStatus(name="postgres", address=where, trouble=str(error))
    risk = server.risk(found) if found.lossy else None
    return ServerStatus(name="postgres", address=where, version=found.version, risk=risk)


async def must_be_the_engine(settings: Settings, served: Endpoints) -> None:
    """Raise EngineTaken where another Temporal than this stack's runs the sessions of its external database."""
    if settings.postgres_url is None:
        return
    from worker.connect import connect, engine  # as below

    ours = await engine(await connect(settings, served))
    async with Database(settings.postgres_url, size=1, patience=_SOON) as database:
        await engines.must_not_be_taken(database, ours)


async def temporal(settings: Settings, where: str) -> ServerStatus:
    """How the Temporal that the environment names is, and how many workers ask it for the tasks of our host."""
    from worker.bells import queue  # a second to import, and nobody may have asked for Temporal
    from worker.connect import connect, pollers, version

    try:
        async with asyncio.timeout(_PATIENCE):
            client = await connect(settings, Endpoints(postgres_url="", temporal_address=where))
            serves = await version(client)
            return ServerStatus(
                name="temporal",
                address=where,
                version=serves,
                risk=holes(serves),
                workers=await pollers(client, queue(settings.task_queue, settings.host)),
            )
    except TimeoutError:
        return ServerStatus(name="temporal", address=where, trouble=f"it does not answer within {_PATIENCE} s")
    except Unavailable as error:
        return ServerStatus(name="temporal", address=where, trouble=str(error))


def holes(version: str) -> str | None:
    """What is to be feared of a released Temporal of this version; nothing is known of other builds."""
    released = _RELEASED.fullmatch(version)
    if released is None:
        return None
    minor, patch = int(released[1]), int(released[2])
    sound = minor > max(_PATCHED) or patch >= _PATCHED.get(minor, patch + 1)
    return None if sound else "has known security holes, which 1.30.4 has not."
