"""Starts the stack."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from operator import attrgetter
from typing import Final

from activities.store.migrate import migrate
from worker.settings import ResumePolicy, Settings
from worker.stack import cluster, external_servers, locks, processes, state_file
from worker.stack.binaries import temporal as binaries
from worker.stack.diagnosis import ISOLATION_REMEDY, NOT_ISOLATED
from worker.stack.layout import Layout
from worker.stack.processes import ProcessRef
from worker.stack.running_supervisor import await_supervisor_state, is_running, start_stop_lock
from worker.stack.state_file import RESTART_WORKER, START_WORKER, Endpoints, PartName, StackPart, StackPhase, StackState
from worker.stack.status import ready_endpoints, require_same_servers
from worker.stack.temporal import TemporalFiles
from worker.startup_suspension import suspend_all
from workflows.domain.errors import DatabaseForeign, DatabaseNewer, Unavailable, UsageError

Report = Callable[[str], None]
Migrate = Callable[[str], Awaitable[object]]

_POLL: Final = 0.02  # seconds
_MAX_EXITS: Final = 4  # exits of a server before it has served
_LOG_TAIL: Final = 15  # lines


async def up(settings: Settings, report: Report, *, worker: bool = True, migrate: Migrate = migrate) -> Endpoints:
    """Start what is missing, in the background. Raises UsageError or Unavailable with the remedy."""
    if (ready := ready_endpoints(settings, report, worker=worker)) is not None:
        return ready
    worker, layout = worker and settings.worker, Layout(home=settings.home)
    layout.create()
    async with start_stop_lock(layout, report):
        layout.create()  # again: we may have waited for `down --purge`
        if worker:
            await external_servers.require_free_host(settings)
        ran = is_running(layout)
        serving = await _start_servers(settings, layout, report)
        if worker and not serving.works:
            try:
                await external_servers.require_durable_database(settings)
                await external_servers.require_own_engine(settings, serving.endpoints)
                await migrate(serving.endpoints.postgres_url)
            except (UsageError, DatabaseForeign, DatabaseNewer):
                if not ran:
                    serving.supervisor.kill(signal.SIGTERM)
                raise
            await _suspend_sessions(settings, serving, report)
            await external_servers.register_attributes(settings, serving.endpoints)
            serving.supervisor.kill(START_WORKER)
            serving = await _wait_until(layout, serving.supervisor, attrgetter("works"), settings.start_seconds)
            report(f"{NOT_ISOLATED} {ISOLATION_REMEDY}")
    return require_same_servers(settings, serving)


async def restart_worker(settings: Settings, report: Report) -> None:
    """Drain the worker and start one of the installed release. Raises UsageError if none is started here."""
    layout = Layout(home=settings.home)
    async with start_stop_lock(layout, report):
        seen = state_file.read(layout.state)
        part = seen.part(PartName.WORKER) if seen is not None and seen.serving else None
        if seen is None or part is None:
            raise UsageError("No worker of this stack runs here: `holdfast status` shows what runs.")
        await migrate(seen.endpoints.postgres_url)
        report("Restarting the worker; it finishes what it is doing first.")
        seen.supervisor.kill(RESTART_WORKER)
        timeout = settings.drain_seconds + settings.start_seconds
        await _wait_until(layout, seen.supervisor, lambda now: _worker_replaced(layout, now, part), timeout)


def _worker_replaced(layout: Layout, now: StackState, before: StackPart) -> bool:
    part, note = now.part(PartName.WORKER), state_file.read_worker_note(layout.worker)
    return part is not None and note is not None and part.process == note.process != before.process


async def _suspend_sessions(settings: Settings, serving: StackState, report: Report) -> None:
    """Only in our own database: an external one may have other workers."""
    if settings.resume is not ResumePolicy.AUTO and serving.part(PartName.POSTGRES) is not None:
        await suspend_all(settings, serving.endpoints.postgres_url, report)


async def _start_servers(settings: Settings, layout: Layout, report: Report) -> StackState:
    found = await await_supervisor_state(layout, settings.start_seconds)
    if found is not None and found.phase in (StackPhase.STOPPING, StackPhase.DOWN):
        await processes.wait_until_gone(found.supervisor, settings.start_seconds)
    if found is None or not found.alive:
        await _prepare(settings, report)
        report("Starting the stack.")
        async with locks.hold(layout.supervisor_lock) as lock:
            supervisor = _spawn(settings, layout, lock)
    else:
        supervisor = found.supervisor
    return await _wait_until(layout, supervisor, attrgetter("serving"), settings.start_seconds)


async def _prepare(settings: Settings, report: Report) -> None:
    """Do what is slow or may need a person, before the background starts."""
    if settings.postgres_url is None:
        await cluster.create(await cluster.locate(settings), settings, report)
    if settings.external_temporal is None:
        data = TemporalFiles(home=settings.home).version()
        found = await binaries.find(settings, data)
        if data not in (None, found.version):
            report(
                f"Temporal's server changes from {data} to {found.version}: it begins a new file, and sessions go on "
                "from the database."
            )


def _spawn(settings: Settings, layout: Layout, lock: int) -> ProcessRef:
    """The supervisor inherits its lock: it counts as running even if we are killed."""
    log = os.fspath(layout.log("supervisor"))
    os.set_inheritable(lock, True)
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, "-P", "-m", "worker.stack.stack_supervisor", str(lock)],
        dict(settings.environment),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )
    return processes.ref(pid)


async def _wait_until(
    layout: Layout, supervisor: ProcessRef, complete: Callable[[StackState], bool], seconds: float
) -> StackState:
    """Raises Unavailable if the supervisor ends, or cannot succeed."""
    deadline = asyncio.get_running_loop().time() + seconds
    while True:
        alive = supervisor.alive  # before the read: its last state counts
        seen = _state_of(supervisor, layout)
        if seen is not None and complete(seen):
            return seen
        if not alive:
            raise Unavailable(f"The stack's supervisor has ended.{_log_tail(layout, 'supervisor')}")
        if seen is not None and (lost := _crash_looping(seen)):
            supervisor.kill(signal.SIGTERM)
            raise Unavailable(f"{lost} does not start.{_log_tail(layout, lost)}")
        if asyncio.get_running_loop().time() > deadline:
            raise Unavailable(
                f"The stack does not serve after {seconds:.0f} s. It goes on trying in the background: "
                "see `holdfast status` and `holdfast logs`."
            )
        await asyncio.sleep(_POLL)


def _state_of(supervisor: ProcessRef, layout: Layout) -> StackState | None:
    seen = state_file.read(layout.state)
    return seen if seen is not None and seen.supervisor == supervisor else None


def _crash_looping(seen: StackState) -> PartName | None:
    return next((part.name for part in seen.parts if part.exits >= _MAX_EXITS and not seen.serving), None)


def _log_tail(layout: Layout, name: str) -> str:
    log = layout.log(name)
    lines = log.read_text(errors="replace").splitlines()[-_LOG_TAIL:] if log.exists() else []
    return "\n".join((f" The end of {str(log)!r}:", *lines))
