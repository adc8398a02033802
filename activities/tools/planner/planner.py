"""Planner: checks calls in a process that can be killed, so that no text wedges a worker."""

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from activities.tools.planner.wire import Limits, Question, answered
from workflows.domain.effects import Plan

_ROOT: Final = Path(__file__).parents[3]
_PROGRAM: Final = (
    "import sys; sys.path.append(sys.argv.pop(1)); from activities.tools.planner.serve import main; main()"
)
_CPU: Final = 2.0  # seconds of the process's own time for one call
_CLOCK: Final = 10.0  # seconds for one call
_START: Final = 60.0  # seconds
_LONGEST: Final = 256 * 1024 * 1024  # bytes of a reply: a plan holds the difference of two files


class TooLong(Exception):
    """The process ended over a call."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(f"that took more than {limits.cpu:g} s of computing, {limits.clock:g} s, or too much memory")


class Planner:
    """One process per worker, started by the first call that needs it, and anew after one that it was killed over."""

    def __init__(self, cpu: float = _CPU, clock: float = _CLOCK) -> None:
        self.limits = Limits(cpu, clock)
        self._turn = asyncio.Lock()
        self._process: Process | None = None

    async def plan(self, question: Question) -> Plan:
        """What a call would do now. Raises ToolError, TooLong."""
        line = question.line(self.limits)
        async with self._turn, self._ready() as process:
            assert process.stdin is not None and process.stdout is not None
            try:
                async with asyncio.timeout(self.limits.clock):
                    process.stdin.write(line)
                    await process.stdin.drain()
                    reply = await process.stdout.readuntil()
            except (TimeoutError, ConnectionError, asyncio.IncompleteReadError) as error:
                raise TooLong(self.limits) from error
        return answered(reply)

    async def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    @asynccontextmanager
    async def _ready(self) -> AsyncIterator[Process]:
        """The process, for one call; it does not outlive one that is stopped or fails."""
        try:
            if self._process is None:
                self._process = await _started()
                await _up(self._process)
            yield self._process
        except BaseException:
            await self.close()
            raise


async def _started() -> Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-X", "utf8", "-c", _PROGRAM, str(_ROOT)),
        env={},  # what looks at a model's texts is shown nothing of ours
        cwd="/",
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        limit=_LONGEST,
    )


async def _up(process: Process) -> None:
    """Wait until it reads: its start is not the time of a call."""
    assert process.stdout is not None
    async with asyncio.timeout(_START):
        await process.stdout.readuntil()


@asynccontextmanager
async def planning(**limits: float) -> AsyncIterator[Planner]:
    """A planner, as long as the block runs."""
    planner = Planner(**limits)
    try:
        yield planner
    finally:
        await planner.close()
