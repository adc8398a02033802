"""A program that the supervisor keeps running: started, watched, restarted."""

import asyncio
import signal
from asyncio.subprocess import DEVNULL, STDOUT, Process
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

from worker.stack.orphaned_processes import parent_death_signal
from worker.stack.processes import ref
from worker.stack.state_file import PartName, StackPart
from workflows.domain.errors import HoldfastError

_FIRST_PAUSE: Final = 0.2  # seconds; doubled with each restart
_LONGEST_PAUSE: Final = 5.0
_STABLE_AFTER: Final = 10.0  # seconds; then the pauses start over


class Service(Protocol):
    @property
    def name(self) -> PartName: ...

    @property
    def stop_signals(self) -> tuple[tuple[signal.Signals, float], ...]:
        """The signals that stop it, each with its seconds."""
        ...

    async def start(self) -> Process:
        """Clear leftovers and start the program."""
        ...

    async def ready(self, process: Process) -> None:
        """Return when the process serves."""
        ...


async def start_process(
    *argv: str, log: Path, environment: Mapping[str, str], on_our_death: signal.Signals, **options: Any
) -> Process:
    """Start a program in its own session, its output in `log`; it gets `on_our_death` if we are killed."""
    with log.open("ab") as output:
        return await asyncio.create_subprocess_exec(
            *argv,
            stdin=DEVNULL,
            stdout=output,
            stderr=STDOUT,
            env=environment,
            start_new_session=True,
            preexec_fn=parent_death_signal(on_our_death),
            **options,
        )


class ServiceSupervisor:
    """Keeps a service alive until stopped."""

    def __init__(self, service: Service, on_change: Callable[[StackPart], None]) -> None:
        self.service = service
        self.serving = asyncio.Event()
        self.part = StackPart(name=service.name)
        self._on_change = on_change
        self._stopping = False
        self._interrupted = asyncio.Event()  # by a stop or a restart
        self._task: asyncio.Task[None] | None = None

    def launch(self, group: asyncio.TaskGroup) -> None:
        """A bug in the supervision ends the group."""
        self._task = group.create_task(self._supervise())

    async def stop(self) -> None:
        self._stopping = True
        self._interrupted.set()
        if self._task is not None:
            await self._task

    def restart(self) -> None:
        self._interrupted.set()

    async def _supervise(self) -> None:
        pause, clock = _FIRST_PAUSE, asyncio.get_running_loop().time
        while not self._stopping:
            self._interrupted.clear()
            began = clock()
            trouble = await self._run_once()
            if self._interrupted.is_set():
                self._update(process=None, serving=False)
                continue
            if clock() - began > _STABLE_AFTER:
                pause = _FIRST_PAUSE
            self._update(process=None, serving=False, exits=self.part.exits + 1, trouble=trouble)
            await _wait_at_most(pause, self._interrupted.wait())
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _run_once(self) -> str:
        try:
            process = await self.service.start()
        except (OSError, HoldfastError) as error:
            return str(error)
        self._update(process=ref(process.pid))
        ended = asyncio.create_task(process.wait())
        ready = asyncio.create_task(self._ready(process))
        interrupted = asyncio.create_task(self._interrupted.wait())
        await asyncio.wait({ended, interrupted}, return_when=asyncio.FIRST_COMPLETED)
        self.serving.clear()
        ready.cancel()
        interrupted.cancel()
        await self._terminate(process)
        code = await ended
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"

    async def _ready(self, process: Process) -> None:
        try:
            await self.service.ready(process)
        except OSError as error:
            self._update(trouble=str(error))
            return
        self._update(serving=True)
        self.serving.set()

    async def _terminate(self, process: Process) -> None:
        for number, seconds in self.service.stop_signals:
            if process.returncode is not None:
                return
            process.send_signal(number)
            await _wait_at_most(seconds, process.wait())
        await process.wait()

    def _update(self, **changes: Any) -> None:
        self.part = self.part.model_copy(update=changes)
        self._on_change(self.part)


async def _wait_at_most(seconds: float, event: Awaitable[object]) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(event, seconds)
