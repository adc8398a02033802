"""Bringing the stack up: what every command that needs it calls first."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Final

from worker import isolation
from worker.settings import Resume, Settings
from worker.stack import cluster, locks, processes, state
from worker.stack.binaries import temporal as binaries
from worker.stack.incumbent import incumbent
from worker.stack.layout import Layout
from worker.stack.processes import ProcessRef
from worker.stack.state import RESTART_WORKER, START_WORKER, Endpoints, Part, PartName, Phase, StackState
from worker.stack.status import external, unapplied
from worker.stack.temporal import Data
from workflows.domain.errors import Unavailable, UsageError

Say = Callable[[str], None]
Migrate = Callable[[str], Awaitable[object]]

_POLL: Final = 0.02  # seconds between two looks at what the supervisor says
_SOON: Final = 4.0  # seconds for a connection to an external database
_HOPELESS: Final = 4  # times that a server may end before it has served
_LOG_TAIL: Final = 15  # lines


async def _migrate(postgres_url: str) -> None:
    from activities.store.migrate import migrate  # a running stack is migrated: its commands need not load psycopg

    await migrate(postgres_url)


async def up(settings: Settings, say: Say, *, worker: bool = True, migrate: Migrate = _migrate) -> Endpoints:
    """Have the stack serve, and return its addresses: starts what is missing, once, in the background.

    `worker=False` starts the servers only. Raises UsageError or Unavailable with the way out.
    """
    worker = worker and settings.worker
    if not worker and (named := external(settings)) is not None:
        return named
    layout = Layout(home=settings.home)
    complete = _with_worker if worker else _serving
    if (ready := state.read(layout.state)) is not None and complete(ready):
        for told in unapplied(settings):
            say(told)
        return _agreed(settings, ready)
    layout.create()
    async with locks.held(layout.up_lock, lambda: say("Another command starts or stops the stack: waiting for it.")):
        layout.create()  # again: what was waited for may have been `down --purge`
        if worker:
            await _alone(settings)
        serving = await _servers(settings, layout, say)
        if not complete(serving):
            await _trusted(settings)
            await _only_engine(settings, serving)
            await migrate(serving.endpoints.postgres_url)
            await _park(settings, serving, say)
            await _register(settings, serving.endpoints)
            serving.supervisor.kill(START_WORKER)
            serving = await _until(layout, serving.supervisor, _with_worker, settings.start_seconds)
            say(f"{isolation.NOTICE} {isolation.REMEDY}")
    return _agreed(settings, serving)


async def restart_worker(settings: Settings, say: Say, *, migrate: Migrate = _migrate) -> None:
    """Have the worker finish what it can, and another one start, of the Holdfast that is installed now.

    The servers go on. Raises UsageError where no worker is started here, or Unavailable.
    """
    layout = Layout(home=settings.home)
    async with locks.held(layout.up_lock, lambda: say("Another command starts or stops the stack: waiting for it.")):
        seen = state.read(layout.state)
        part = seen.part(PartName.WORKER) if seen is not None and seen.serving else None
        if seen is None or part is None:
            raise UsageError("No worker of this stack runs here: `holdfast status` tells what runs.")
        await migrate(seen.endpoints.postgres_url)
        say("Restarting the worker; it may finish what it is at.")
        seen.supervisor.kill(RESTART_WORKER)
        patience = settings.drain_seconds + settings.start_seconds
        await _until(layout, seen.supervisor, lambda now: _another(layout, now, part), patience)


def _another(layout: Layout, now: StackState, before: Part) -> bool:
    """Whether a new worker runs, and has said who it is."""
    part, note = now.part(PartName.WORKER), state.noted(layout.worker)
    return part is not None and note is not None and part.process == note.process != before.process


async def _park(settings: Settings, serving: StackState, say: Say) -> None:
    """Before the worker of a new boot starts, have what was at work wait for a person, if that is wanted.

    Only where the database is this stack's own: other workers may be at work in another one.
    """
    if settings.resume is not Resume.AUTO and serving.part(PartName.POSTGRES) is not None:
        from worker.parking import park_all  # as above

        await park_all(settings, serving.endpoints.postgres_url, say)


def _agreed(settings: Settings, seen: StackState) -> Endpoints:
    """The addresses of a running stack, unless the settings name other servers than it was started with."""
    own = {part.name for part in seen.parts}
    postgres = None if PartName.POSTGRES in own else seen.endpoints.postgres_url
    temporal = None if PartName.TEMPORAL in own else seen.endpoints.temporal_address
    if (postgres, temporal) == (settings.postgres_url, settings.external_temporal):
        return seen.endpoints
    raise UsageError(
        "The stack was started with other servers than HOLDFAST_POSTGRES_URL and TEMPORAL_ADDRESS name now: "
        "`holdfast down` stops it, then try again."
    )


def _serving(seen: StackState) -> bool:
    return seen.serving


def _with_worker(seen: StackState) -> bool:
    return seen.serving and seen.part(PartName.WORKER) is not None


async def _servers(settings: Settings, layout: Layout, say: Say) -> StackState:
    """Have the supervisor run and its servers serve."""
    found = await incumbent(layout, settings.start_seconds)
    if found is not None and found.phase in (Phase.STOPPING, Phase.DOWN):
        await processes.gone(found.supervisor, settings.start_seconds)
    if found is None or not found.alive:
        await _prepare(settings, say)
        say("Starting the stack.")
        async with locks.held(layout.supervisor_lock) as lock:
            supervisor = _spawn(settings, layout, lock)
    else:
        supervisor = found.supervisor
    return await _until(layout, supervisor, _serving, settings.start_seconds)


async def _prepare(settings: Settings, say: Say) -> None:
    """Whatever takes long or may need a person's help, before anything runs in the background."""
    if settings.postgres_url is None:
        await cluster.create(await cluster.locate(settings), settings, say)
    if settings.external_temporal is None:
        await binaries.obtain(settings, Data(home=settings.home).version(), say)


def _spawn(settings: Settings, layout: Layout, lock: int) -> ProcessRef:
    """Start the supervisor in a session of its own; it inherits our environment, which its arguments never show.

    It inherits its lock, too: there is no moment in which it runs and nobody can tell, though we be killed in it.
    """
    log = os.fspath(layout.log("supervisor"))
    os.set_inheritable(lock, True)
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, "-P", "-m", "worker.stack.supervise", str(lock)],
        dict(settings.environment),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )
    return processes.ref(pid)


async def _until(
    layout: Layout, supervisor: ProcessRef, complete: Callable[[StackState], bool], seconds: float
) -> StackState:
    """Wait until the supervisor says so. Raises Unavailable when it ends, or cannot succeed."""
    deadline = asyncio.get_running_loop().time() + seconds
    while True:
        alive = supervisor.alive  # before the look: what it said at its end counts
        seen = _of(supervisor, layout)
        if seen is not None and complete(seen):
            return seen
        if not alive:
            raise Unavailable(f"The stack's supervisor has ended.{_tail(layout, 'supervisor')}")
        if seen is not None and (lost := _hopeless(seen)):
            supervisor.kill(signal.SIGTERM)
            raise Unavailable(f"{lost} does not start.{_tail(layout, lost)}")
        if asyncio.get_running_loop().time() > deadline:
            raise Unavailable(
                f"The stack does not serve after {seconds:.0f} s. It goes on trying in the background: "
                "see `holdfast status` and `holdfast logs`."
            )
        await asyncio.sleep(_POLL)


def _of(supervisor: ProcessRef, layout: Layout) -> StackState | None:
    """What this supervisor says; an earlier one may have left its word."""
    seen = state.read(layout.state)
    return seen if seen is not None and seen.supervisor == supervisor else None


def _hopeless(seen: StackState) -> PartName | None:
    """A server that keeps ending before it has served."""
    return next((part.name for part in seen.parts if part.exits >= _HOPELESS and not seen.serving), None)


def _tail(layout: Layout, name: str) -> str:
    log = layout.log(name)
    lines = log.read_text(errors="replace").splitlines()[-_LOG_TAIL:] if log.exists() else []
    return "\n".join((f" The end of {str(log)!r}:", *lines))


async def _trusted(settings: Settings) -> None:
    """Refuse an external database that may lose what it has acknowledged; our own keeps it. Raises UsageError."""
    if settings.postgres_url is None:
        return
    from activities.store import server  # as for `_migrate`

    await server.require(settings.postgres_url, lossy=settings.lossy_database)


async def _alone(settings: Settings) -> None:
    """Refuse a host that workers of another machine have the name of, which our own database has none of.

    Raises HostTaken.
    """
    if settings.postgres_url is not None and settings.host is not None:
        from activities.store import hosts  # as for `_migrate`
        from activities.store.database import Database
        from worker import machine

        async with Database(settings.postgres_url, size=1, patience=_SOON) as database:
            await hosts.must_not_be_taken(database, settings.host, machine.known(settings.home))


async def _register(settings: Settings, served: Endpoints) -> None:
    """Tell an external Temporal of our search attributes; our own is told by its part of the stack."""
    if settings.external_temporal is None:
        return
    from worker.connect import connect, register_attributes  # a second to import, and only an external server needs it

    await register_attributes(await connect(settings, served))


async def _only_engine(settings: Settings, serving: StackState) -> None:
    """Refuse an external database whose sessions another Temporal runs, before it is touched; what was started for it
    is of no use then, and ends. Raises EngineTaken."""
    from activities.store.engines import EngineTaken  # as for `_migrate`
    from worker.stack import elsewhere

    try:
        await elsewhere.must_be_the_engine(settings, serving.endpoints)
    except EngineTaken:
        serving.supervisor.kill(signal.SIGTERM)
        raise
