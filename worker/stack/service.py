"""A supervised process: what a part of the stack must know, and how it is kept alive."""

import asyncio
import signal
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

from worker.stack.processes import ref
from worker.stack.state import Part, PartName
from workflows.domain.errors import HoldfastError

_FIRST_PAUSE: Final = 0.2  # seconds before the first restart; doubled up to the longest
_LONGEST_PAUSE: Final = 5.0
_SETTLED: Final = 10.0  # a process that lived this long begins with the first pause again


class Service(Protocol):
    """A program of the stack."""

    @property
    def name(self) -> PartName: ...

    @property
    def farewell(self) -> tuple[tuple[signal.Signals, float], ...]:
        """The signals that stop it, each with the seconds that it is given."""
        ...

    async def start(self) -> Process:
        """Clear what an earlier process left, and start the program."""
        ...

    async def ready(self, process: Process) -> None:
        """Return when the process serves."""
        ...


class Keeper:
    """Keeps one service alive until it is stopped, and tells what changes."""

    def __init__(self, service: Service, changed: Callable[[Part], None]) -> None:
        self.service = service
        self.serving = asyncio.Event()
        self.part = Part(name=service.name)
        self._changed = changed
        self._stopping = asyncio.Event()
        self._again = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def begin(self, group: asyncio.TaskGroup) -> None:
        """Start the service; a bug in keeping it ends the group, and is not kept quiet."""
        self._task = group.create_task(self._keep())

    async def stop(self) -> None:
        """Stop the service in its own way; returns when its process has ended."""
        self._stopping.set()
        if self._task is not None:
            await self._task

    def restart(self) -> None:
        """Stop the process in its own way, and start another one."""
        self._again.set()

    async def _keep(self) -> None:
        pause, clock = _FIRST_PAUSE, asyncio.get_running_loop().time
        while not self._stopping.is_set():
            began = clock()
            trouble = await self._life()
            if self._stopping.is_set():
                break
            if self._again.is_set():
                self._again.clear()
                self._tell(process=None, serving=False)
                continue
            if clock() - began > _SETTLED:
                pause = _FIRST_PAUSE
            self._tell(process=None, serving=False, exits=self.part.exits + 1, trouble=trouble)
            await _within(pause, self._stopping.wait())
            pause = min(2 * pause, _LONGEST_PAUSE)
        self._tell(process=None, serving=False)

    async def _life(self) -> str:
        """One process from start to end; returns how it ended."""
        try:
            process = await self.service.start()
        except (OSError, HoldfastError) as error:
            return str(error)
        self._tell(process=ref(process.pid))
        ended = asyncio.create_task(process.wait())
        ready = asyncio.create_task(self._ready(process))
        stopping = asyncio.create_task(self._stopping.wait())
        again = asyncio.create_task(self._again.wait())
        await asyncio.wait({ended, stopping, again}, return_when=asyncio.FIRST_COMPLETED)
        self.serving.clear()
        ready.cancel()
        stopping.cancel()
        again.cancel()
        await self._dismiss(process)
        return _ending(await ended)

    async def _ready(self, process: Process) -> None:
        try:
            await self.service.ready(process)
        except OSError as error:
            self._tell(trouble=str(error))
            return
        self._tell(serving=True)
        self.serving.set()

    async def _dismiss(self, process: Process) -> None:
        for number, seconds in self.service.farewell:
            if process.returncode is not None:
                return
            process.send_signal(number)
            await _within(seconds, process.wait())
        await process.wait()

    def _tell(self, **changes: Any) -> None:
        self.part = self.part.model_copy(update=changes)
        self._changed(self.part)


async def _within(seconds: float, event: Awaitable[object]) -> None:
    try:
        await asyncio.wait_for(event, seconds)
    except TimeoutError:
        return


def _ending(code: int) -> str:
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
