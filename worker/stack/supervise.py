"""The supervisor: one process that is parent of all parts of the stack, keeps them alive, and stops them in order."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, STDOUT, Process
from collections.abc import Iterable
from typing import Final

from worker import release
from worker.settings import Settings
from worker.stack import cluster, ports, processes, state
from worker.stack.binaries import temporal as temporal_binary
from worker.stack.layout import Layout
from worker.stack.linux import adopt_orphans, dies_with_me, reap, zombies
from worker.stack.logs import ShortLogs
from worker.stack.postgres import PostgresService
from worker.stack.service import Keeper, Service
from worker.stack.state import RESTART_WORKER, START_WORKER, Endpoints, Part, PartName, Phase, StackState
from worker.stack.temporal import Data, TemporalService
from workflows.domain.errors import HoldfastError, Unavailable

_MARGIN: Final = 5.0  # seconds beyond its own drain that a worker gets before it is killed
_ORPHANED: Final = 1.0  # seconds


class WorkerService:
    """The worker process, as a part of the stack; it alone inherits the whole environment, keys included."""

    name = PartName.WORKER

    def __init__(self, settings: Settings, umask: int) -> None:
        self._settings = settings
        self._umask = umask
        self.farewell = ((signal.SIGTERM, settings.drain_seconds + _MARGIN), (signal.SIGKILL, 5.0))

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
                preexec_fn=dies_with_me(signal.SIGKILL),
            )

    async def ready(self, process: Process) -> None:
        """A worker that is not there yet loses nothing: its task queue waits."""


class Supervisor:
    """Starts the servers, then, when asked to, the worker; on its end stops them the other way round."""

    def __init__(
        self, layout: Layout, servers: list[Service], worker: Service, endpoints: Endpoints, logs: ShortLogs
    ) -> None:
        self._layout = layout
        self._logs = logs
        self._servers = [Keeper(service, self._changed) for service in servers]
        self._worker = Keeper(worker, self._changed)
        self._wanted = asyncio.Event()
        self._stopping = asyncio.Event()
        self._state = StackState(
            supervisor=processes.me(), phase=Phase.STARTING, endpoints=endpoints, release=release.mine()
        )

    async def run(self) -> None:
        self._listen()
        self._write()
        async with asyncio.TaskGroup() as group:
            shortening = group.create_task(self._logs.run())
            for keeper in self._servers:
                keeper.begin(group)
            if await self._unless_stopped(*(keeper.serving for keeper in self._servers)):
                self._enter(Phase.SERVING)
            if await self._unless_stopped(self._wanted):
                self._worker.begin(group)
            await self._stopping.wait()
            self._enter(Phase.STOPPING)
            for keeper in (self._worker, *reversed(self._servers)):
                await keeper.stop()
            shortening.cancel()
        self._enter(Phase.DOWN)

    def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._stopping.set)
        loop.add_signal_handler(START_WORKER, self._wanted.set)
        loop.add_signal_handler(RESTART_WORKER, self._worker.restart)
        loop.add_signal_handler(signal.SIGCHLD, self._child_ended)

    async def _unless_stopped(self, *events: asyncio.Event) -> bool:
        """Wait until all events have come, or the end; whether they have."""
        stopping = asyncio.create_task(self._stopping.wait())
        coming = asyncio.create_task(_all(events))
        await asyncio.wait({stopping, coming}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        coming.cancel()
        return not self._stopping.is_set()

    def _child_ended(self) -> None:
        """Collect adopted orphans: whoever is still a zombie after a while is waited for by nobody else.

        The parts are, however late on a busy machine, and how they have ended is to be known.
        """
        seen = zombies()
        asyncio.get_running_loop().call_later(_ORPHANED, lambda: reap((seen & zombies()) - self._own()))

    def _own(self) -> frozenset[int]:
        return frozenset(part.process.pid for part in self._state.parts if part.process is not None)

    def _changed(self, part: Part) -> None:
        others = tuple(other for other in self._state.parts if other.name is not part.name)
        self._state = self._state.model_copy(update={"parts": (*others, part)})
        self._write()

    def _enter(self, phase: Phase) -> None:
        self._state = self._state.model_copy(update={"phase": phase})
        self._write()

    def _write(self) -> None:
        try:
            state.write(self._layout.state, self._state)
        except OSError as error:  # a full disk must not end the supervision
            print(f"The state cannot be written: {error}", file=sys.stderr)


async def _all(events: Iterable[asyncio.Event]) -> None:
    for event in events:
        await event.wait()


async def supervise(settings: Settings, umask: int) -> None:
    """Be the supervisor of the stack of these settings, whose lock this process holds.

    `umask` is the person's own, for the worker, which makes files in their work tree.
    """
    layout = Layout(home=settings.home)
    adopt_orphans()
    await _clear(state.read(layout.state))
    servers, endpoints = await _servers(settings)
    logs = ShortLogs(layout, settings.log_megabytes)
    await Supervisor(layout, servers, WorkerService(settings, umask), endpoints, logs).run()


async def _clear(former: StackState | None) -> None:
    """End what a killed supervisor left where the kernel could not do it; PostgreSQL's part does that for itself."""
    for part in former.parts if former else ():
        if part.process is not None and part.name is not PartName.POSTGRES:
            part.process.kill(signal.SIGKILL)
            await processes.gone(part.process, _MARGIN)


async def _servers(settings: Settings) -> tuple[list[Service], Endpoints]:
    """The servers that are ours to run, and the addresses of all."""
    servers: list[Service] = []
    layout = Layout(home=settings.home)
    postgres_url, temporal_address, ui_url = settings.postgres_url, settings.external_temporal, None
    if postgres_url is None:
        found = await cluster.locate(settings)
        servers.append(PostgresService(found, layout.log(PartName.POSTGRES), settings.environment))
        postgres_url = found.url()
    if temporal_address is None:
        chosen = ports.remembered(layout.ports)
        servers.append(TemporalService(settings, await _temporal(settings), chosen))
        temporal_address = f"{ports.LOOPBACK}:{chosen.temporal}"
        ui_url = f"http://{ports.LOOPBACK}:{chosen.ui}"
    return servers, Endpoints(postgres_url=postgres_url, temporal_address=temporal_address, ui_url=ui_url)


async def _temporal(settings: Settings) -> temporal_binary.TemporalBinary:
    found = await temporal_binary.find(settings, Data(home=settings.home).version())
    if found is None:
        raise Unavailable("The Temporal server's program is gone: `holdfast up` brings it back.")
    return found


def main() -> None:
    """Run as `python -m worker.stack.supervise LOCK`, by `up`, which has prepared everything that takes long.

    LOCK is the descriptor of the supervisor's lock. Our parts do not get it: whoever holds it is the supervisor.
    """
    match sys.argv[1:]:
        case ["--version"]:
            print(f"holdfast {release.mine()}")
            return
        case [lock]:
            os.set_inheritable(int(lock), False)
        case _:
            sys.exit("`holdfast up` starts the supervisor.")
    umask = os.umask(0o077)  # what the servers write is nobody else's business
    settings = Settings.read()
    os.chdir(settings.home)
    try:
        asyncio.run(supervise(settings, umask))
    except HoldfastError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
