"""The supervisor: parent of the stack's parts."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import Process
from typing import Final

from worker import release
from worker.settings import Settings
from worker.stack import cluster, ports, processes, state_file
from worker.stack.layout import Layout
from worker.stack.log_rotation import rotate_logs
from worker.stack.orphaned_processes import adopt_orphans
from worker.stack.postgres import PostgresService
from worker.stack.service import Service, ServiceSupervisor, start_process
from worker.stack.state_file import RESTART_WORKER, START_WORKER, Endpoints, PartName, StackPart, StackPhase, StackState
from worker.stack.temporal import TemporalService
from workflows.domain.errors import HoldfastError

_KILL_MARGIN: Final = 5.0  # seconds beyond its drain before a worker is killed
_ORPHAN_GRACE: Final = 1.0  # seconds
# Else glibc has up to eight heaps per core, and each keeps what it once needed: 8 MB of a worker that lives long.
WORKER_ALLOCATOR: Final = {"MALLOC_ARENA_MAX": "2"}


class WorkerService:
    """The worker; only it inherits the whole environment, keys included."""

    name = PartName.WORKER

    def __init__(self, settings: Settings, umask: int) -> None:
        self._settings = settings
        self._umask = umask
        self.stop_signals = ((signal.SIGTERM, settings.drain_seconds + _KILL_MARGIN), (signal.SIGKILL, 5.0))

    async def start(self) -> Process:
        layout = Layout(home=self._settings.home)
        return await start_process(
            *(sys.executable, "-P", "-m", "worker.serve"),
            log=layout.log(self.name),
            environment={**WORKER_ALLOCATOR, **self._settings.environment},
            on_our_death=signal.SIGKILL,
            cwd=layout.home,
            umask=self._umask,
        )

    async def ready(self, process: Process) -> None:
        """A late worker loses nothing: its queue waits."""


class Supervisor:
    """Starts the servers, then the worker; keeps them alive; stops them in reverse."""

    def __init__(
        self, layout: Layout, servers: list[Service], worker: Service, endpoints: Endpoints, log_megabytes: float
    ) -> None:
        self._layout = layout
        self._log_megabytes = log_megabytes
        self._servers = [ServiceSupervisor(service, self._changed) for service in servers]
        self._worker = ServiceSupervisor(worker, self._changed)
        self._wanted = asyncio.Event()
        self._stopping = asyncio.Event()
        self._state = StackState(
            supervisor=processes.current_process(),
            phase=StackPhase.STARTING,
            endpoints=endpoints,
            release=release.installed_release(),
        )

    async def run(self) -> None:
        self._listen()
        self._write()
        async with asyncio.TaskGroup() as group:
            rotation = group.create_task(rotate_logs(self._layout, self._log_megabytes))
            start = group.create_task(self._start(group))
            await self._stopping.wait()
            start.cancel()
            self._set_phase(StackPhase.STOPPING)
            for service_supervisor in (self._worker, *reversed(self._servers)):
                await service_supervisor.stop()
            rotation.cancel()
        self._set_phase(StackPhase.DOWN)

    async def _start(self, group: asyncio.TaskGroup) -> None:
        for service_supervisor in self._servers:
            service_supervisor.launch(group)
        for service_supervisor in self._servers:
            await service_supervisor.serving.wait()
        self._set_phase(StackPhase.SERVING)
        await self._wanted.wait()
        self._worker.launch(group)

    def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._stopping.set)
        loop.add_signal_handler(START_WORKER, self._wanted.set)
        loop.add_signal_handler(RESTART_WORKER, self._worker.restart)
        loop.add_signal_handler(signal.SIGCHLD, self._child_ended)

    def _child_ended(self) -> None:
        """Reap adopted orphans: lasting zombies but the parts, whose waiter needs their exit codes, however late."""
        seen = processes.zombies()
        asyncio.get_running_loop().call_later(_ORPHAN_GRACE, self._reap, seen)

    def _reap(self, seen: frozenset[int]) -> None:
        parts = {part.process.pid for part in self._state.parts if part.process is not None}
        processes.reap((seen & processes.zombies()) - parts)

    def _changed(self, part: StackPart) -> None:
        others = tuple(other for other in self._state.parts if other.name is not part.name)
        self._state = self._state.model_copy(update={"parts": (*others, part)})
        self._write()

    def _set_phase(self, phase: StackPhase) -> None:
        self._state = self._state.model_copy(update={"phase": phase})
        self._write()

    def _write(self) -> None:
        try:
            state_file.write(self._layout.state, self._state)
        except OSError as error:  # a full disk must not end the supervisor
            print(f"The state cannot be written: {error}", file=sys.stderr)


async def supervise(settings: Settings, umask: int) -> None:
    """`umask` is the person's: the worker creates files in their work tree."""
    layout = Layout(home=settings.home)
    adopt_orphans()
    await _kill_leftovers(state_file.read(layout.state))
    servers, endpoints = await _servers(settings)
    worker = WorkerService(settings, umask)
    await Supervisor(layout, servers, worker, endpoints, settings.log_megabytes).run()


async def _kill_leftovers(former: StackState | None) -> None:
    """End what the kernel could not; PostgreSQL's part ends its own."""
    for part in former.parts if former else ():
        if part.process is not None and part.name is not PartName.POSTGRES:
            part.process.kill(signal.SIGKILL)
            await processes.wait_until_gone(part.process, _KILL_MARGIN)


async def _servers(settings: Settings) -> tuple[list[Service], Endpoints]:
    servers: list[Service] = []
    layout = Layout(home=settings.home)
    postgres_url, temporal_address, ui_url = settings.postgres_url, settings.external_temporal, None
    if postgres_url is None:
        found = await cluster.locate(settings)
        servers.append(PostgresService(found, layout.log(PartName.POSTGRES), settings.environment))
        postgres_url = found.url()
    if temporal_address is None:
        chosen = ports.load_or_choose(layout.ports)
        servers.append(TemporalService(settings, chosen))
        temporal_address = f"{ports.LOOPBACK}:{chosen.temporal}"
        ui_url = f"http://{ports.LOOPBACK}:{chosen.ui}"
    addresses = {"postgres_url": postgres_url, "pooler_url": settings.postgres_pooler_url}
    return servers, Endpoints(**addresses, temporal_address=temporal_address, ui_url=ui_url)


def main() -> None:
    """Run by `up` with the descriptor of the supervisor's lock, which the parts do not inherit."""
    if len(sys.argv) != 2:
        sys.exit("`holdfast up` starts the supervisor.")
    os.set_inheritable(int(sys.argv[1]), False)
    umask = os.umask(0o077)  # the servers' files are private
    settings = Settings.read()
    os.chdir(settings.home)
    try:
        asyncio.run(supervise(settings, umask))
    except HoldfastError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
