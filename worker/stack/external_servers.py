"""The status of external servers."""

import asyncio
import re
from typing import Final

from activities.store import engines, hosts, pg_server
from activities.store.database import Database
from activities.store.hosts import Host
from worker import connect, machine_id
from worker.outbox import queue
from worker.settings import Settings
from worker.stack.state_file import Endpoints, PartName
from worker.stack.status import HostStatus, ServerStatus, StackStatus, external_endpoints, status
from workflows.domain.errors import Unavailable, Unreachable, UsageError

_TEMPORAL_TIMEOUT: Final = 10  # seconds
_FIRST_SAFE_PATCH: Final = {28: 4, 29: 6, 30: 4}  # of each minor of Temporal 1, without known holes (security.md 9)
_RELEASED: Final = re.compile(r"1\.(\d+)\.(\d+)")
_CONNECT_TIMEOUT: Final = 4.0  # seconds


async def full_status(settings: Settings) -> StackStatus:
    """It serves if the external servers do and a worker runs, here or elsewhere."""
    here = status(settings)
    found = []
    if settings.postgres_url is not None:
        found.append(await postgres_status(settings.postgres_url))
    if settings.external_temporal is not None:
        found.append(await temporal_status(settings, settings.external_temporal))
    known = await host_statuses(settings)
    begun = here.serving or (external_endpoints(settings) is not None and not settings.worker)
    ours = any(part.name == PartName.WORKER and part.pid is not None for part in here.parts)  # maybe not polling yet
    worked = ours or all(each.workers != 0 for each in found) or any(host.working for host in known)
    serving = begun and worked and all(each.trouble is None for each in found) and not any(host.taken for host in known)
    return here.model_copy(update={"servers": tuple(found), "hosts": known, "serving": serving})


async def host_statuses(settings: Settings) -> tuple[HostStatus, ...]:
    """Empty if the external database is unreachable or not migrated."""
    if settings.postgres_url is None:
        return ()
    try:
        async with _database(settings.postgres_url) as database:
            found = await hosts.list_all(database)
    except (Unavailable, UsageError):
        return ()
    return tuple(_host(each, settings) for each in found)


def _host(found: Host, settings: Settings) -> HostStatus:
    ours = settings.worker and found.name == settings.host and found.machine is not None
    taken = ours and found.working and found.machine != machine_id.existing_machine_id(settings.home)
    return HostStatus(name=found.name, working=found.working, sessions=found.sessions, taken=taken)


async def postgres_status(url: str) -> ServerStatus:
    where = pg_server.display_address(url)
    try:
        found = await pg_server.inspect_server(url)
    except Unreachable as error:
        return ServerStatus(name="postgres", address=where, trouble=error.without_advice)
    except Unavailable as error:
        return ServerStatus(name="postgres", address=where, trouble=str(error))
    risk = pg_server.describe_risk(found) if found.lossy else None
    return ServerStatus(name="postgres", address=where, version=found.version, risk=risk)


async def require_durable_database(settings: Settings) -> None:
    """Raises UsageError for an external database that may lose acknowledged commits."""
    if settings.postgres_url is not None:
        await pg_server.require_server(settings.postgres_url, lossy=settings.lossy_database)


async def require_free_host(settings: Settings) -> None:
    """Raises HostTaken if another machine's worker has our name in the external database."""
    if settings.postgres_url is not None and settings.host is not None:
        async with _database(settings.postgres_url) as database:
            await hosts.check_not_taken(database, settings.host, machine_id.existing_machine_id(settings.home))


async def require_own_engine(settings: Settings, served: Endpoints) -> None:
    """Raises EngineTaken if another Temporal runs the sessions of the external database."""
    if settings.postgres_url is not None:
        ours = await connect.identify_engine(await connect.connect(settings, served))
        async with _database(settings.postgres_url) as database:
            await engines.check_not_taken(database, ours)


async def register_attributes(settings: Settings, served: Endpoints) -> None:
    """Raises Unavailable."""
    if settings.external_temporal is not None:
        await connect.register_attributes(await connect.connect(settings, served))


async def temporal_status(settings: Settings, where: str) -> ServerStatus:
    """The environment's Temporal, and how many workers poll our host's queue."""
    try:
        async with asyncio.timeout(_TEMPORAL_TIMEOUT):
            client = await connect.connect(settings, Endpoints(postgres_url="", temporal_address=where))
            serves = await connect.server_version(client)
            return ServerStatus(
                name="temporal",
                address=where,
                version=serves,
                risk=security_risk(serves),
                workers=await connect.count_pollers(client, queue(settings.task_queue, settings.host)),
            )
    except TimeoutError:
        return ServerStatus(name="temporal", address=where, trouble=f"it does not answer within {_TEMPORAL_TIMEOUT} s")
    except Unavailable as error:
        return ServerStatus(name="temporal", address=where, trouble=str(error))


def _database(url: str) -> Database:
    return Database(url, size=1, connect_timeout=_CONNECT_TIMEOUT)


def security_risk(version: str) -> str | None:
    released = _RELEASED.fullmatch(version)
    if released is None:
        return None
    minor, patch = int(released[1]), int(released[2])
    sound = minor > max(_FIRST_SAFE_PATCH) or patch >= _FIRST_SAFE_PATCH.get(minor, patch + 1)
    return None if sound else "has known security holes, which 1.30.4 has not."
