"""The supervisor: parent of the stack's parts; keeps them alive and stops them in order."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, STDOUT, Process
from collections.abc import Iterable
from typing import Final

from worker import release
from worker.settings import Settings
from worker.stack import cluster, ports, processes, state_file
from worker.stack.binaries import temporal as temporal_binary
from worker.stack.layout import Layout
from worker.stack.linux import adopt_orphans, parent_death_signal, reap, zombies
from worker.stack.log_rotation import LogRotator
from worker.stack.postgres import PostgresService
from worker.stack.service import Service, ServiceSupervisor
from worker.stack.state_file import RESTART_WORKER, START_WORKER, Endpoints, PartName, StackPart, StackPhase, StackState
from worker.stack.temporal import TemporalFiles, TemporalService
from workflows.domain.errors import HoldfastError, Unavailable

_KILL_MARGIN: Final = 5.0  # seconds beyond its drain before a worker is killed
_ORPHAN_GRACE: Final = 1.0  # seconds


class WorkerService:
    """The worker, as a part of the stack; only it inherits the whole environment, keys included."""

    name = PartName.WORKER

    def __init__(self, settings: Settings, umask: int) -> None:
        self._settings = settings
        self._umask = umask
        self.stop_signals = ((signal.SIGTERM, settings.drain_seconds + _KILL_MARGIN), (signal.SIGKILL, 5.0))

    async def start(self) -> Process:
        layout = Layout(home=self._settings.home)
        with layout.log(self.name).open("ab") as log:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "worker.serve"),
                stdin=DEVNULL,
                stdout=log,
                stderr=STDOUT,
                cwd=layout.home,
                env=self._settings.environment,
                umask=self._umask,
                start_new_session=True,
                preexec_fn=parent_death_signal(signal.SIGKILL),
            )

    async def ready(self, process: Process) -> None:
        """A late worker loses nothing: its queue waits."""


class Supervisor:
    """Starts the servers, then the worker; stops them in reverse."""

    def __init__(
        self, layout: Layout, servers: list[Service], worker: Service, endpoints: Endpoints, logs: LogRotator
    ) -> None:
        self._layout = layout
        self._logs = logs
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
            rotation = group.create_task(self._logs.run())
            for service_supervisor in self._servers:
                service_supervisor.launch(group)
            if await self._wait_unless_stopped(*(service_supervisor.serving for service_supervisor in self._servers)):
                self._set_phase(StackPhase.SERVING)
            if await self._wait_unless_stopped(self._wanted):
                self._worker.launch(group)
            await self._stopping.wait()
            self._set_phase(StackPhase.STOPPING)
            for service_supervisor in (self._worker, *reversed(self._servers)):
                await service_supervisor.stop()
            rotation.cancel()
        self._set_phase(StackPhase.DOWN)

    def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._stopping.set)
        loop.add_signal_handler(START_WORKER, self._wanted.set)
        loop.add_signal_handler(RESTART_WORKER, self._worker.restart)
        loop.add_signal_handler(signal.SIGCHLD, self._child_ended)

    async def _wait_unless_stopped(self, *events: asyncio.Event) -> bool:
        """Returns whether all events came before the stop."""
        stopping = asyncio.create_task(self._stopping.wait())
        coming = asyncio.create_task(_all(events))
        await asyncio.wait({stopping, coming}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        coming.cancel()
        return not self._stopping.is_set()

    def _child_ended(self) -> None:
        """Reap adopted orphans: lasting zombies without another waiter.

        The parts' waiter needs their exit codes, however late.
        """
        seen = zombies()
        asyncio.get_running_loop().call_later(_ORPHAN_GRACE, lambda: reap((seen & zombies()) - self._part_pids()))

    def _part_pids(self) -> frozenset[int]:
        return frozenset(part.process.pid for part in self._state.parts if part.process is not None)

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


async def _all(events: Iterable[asyncio.Event]) -> None:
    for event in events:
        await event.wait()


async def supervise(settings: Settings, umask: int) -> None:
    """Supervise this stack, whose lock this process holds.

    `umask` is the person's: the worker creates files in their work tree.
    """
    layout = Layout(home=settings.home)
    adopt_orphans()
    await _kill_leftovers(state_file.read(layout.state))
    servers, endpoints = await _servers(settings)
    logs = LogRotator(layout, settings.log_megabytes)
    await Supervisor(layout, servers, WorkerService(settings, umask), endpoints, logs).run()


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
        servers.append(TemporalService(settings, await _temporal(settings), chosen))
        temporal_address = f"{ports.LOOPBACK}:{chosen.temporal}"
        ui_url = f"http://{ports.LOOPBACK}:{chosen.ui}"
    return servers, Endpoints(postgres_url=postgres_url, temporal_address=temporal_address, ui_url=ui_url)


async def _temporal(settings: Settings) -> temporal_binary.TemporalBinary:
    found = await temporal_binary.find(settings, TemporalFiles(home=settings.home).version())
    if found is None:
        raise Unavailable("The Temporal server's program is gone: `holdfast up` brings it back.")
    return found


def main() -> None:
    """Run by `up`, after slow preparation, as `python -m worker.stack.stack_supervisor LOCK`.

    LOCK: the descriptor of the supervisor's lock, which the parts do not inherit.
    """
    match sys.argv[1:]:
        case ["--version"]:
            print(f"holdfast {release.installed_release()}")
            return
        case [lock]:
            os.set_inheritable(int(lock), False)
        case _:
            sys.exit("`holdfast up` starts the supervisor.")
    umask = os.umask(0o077)  # the servers' files are private
    settings = Settings.read()
    os.chdir(settings.home)
    try:
        asyncio.run(supervise(settings, umask))
    except HoldfastError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
