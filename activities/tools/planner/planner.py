"""Planner: checks calls in a process that can be killed, so that no text wedges a worker."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from activities.tools.planner.wire import CheckFailed, Limits, Question, answered
from workflows.domain.effects import Plan

_ROOT: Final = Path(__file__).parents[3]
_PROGRAM: Final = """
import sys
sys.path.append(sys.argv.pop(1))
from activities.tools.planner.priority import lower_priority
lower_priority()
from activities.tools.planner.serve import main
main()
"""
_CPU: Final = 2.0  # seconds of the process's own time for one call
_CLOCK: Final = 10.0  # seconds for one call
_START: Final = 60.0  # seconds
_END: Final = 1.0  # seconds for a process to end that has closed its output
_LONGEST: Final = 256 * 1024 * 1024  # bytes of a reply: a plan holds the difference of two files


class Planner:
    """One process per worker, started by the first call that needs it, and anew after one that it ended over."""

    def __init__(self, cpu: float = _CPU, clock: float = _CLOCK) -> None:
        self.limits = Limits(cpu, clock)
        self._turn = asyncio.Lock()
        self._process: Process | None = None

    async def plan(self, question: Question) -> Plan:
        """What a call would do now. Raises ToolError, CheckFailed."""
        line = question.line(self.limits)
        async with self._turn, self._ready() as process:
            reply = await self._asked(process, line)
        return answered(reply)

    async def _asked(self, process: Process, line: bytes) -> bytes:
        """The reply to one line. Raises CheckFailed, which says how the process ended over it."""
        assert process.stdin is not None and process.stdout is not None
        try:
            async with asyncio.timeout(self.limits.clock):
                process.stdin.write(line)
                await process.stdin.drain()
                return await process.stdout.readuntil()
        except TimeoutError as error:
            raise CheckFailed(_too_long(self.limits)) from error
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            raise CheckFailed(_ended(await _code(process), self.limits)) from error

    async def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            await _killed(process)

    @asynccontextmanager
    async def _ready(self) -> AsyncIterator[Process]:
        """The process, for one call; it does not outlive one that is stopped or fails. Raises CheckFailed."""
        if self._process is not None and _has_ended(self._process):  # since the last call
            self._process = None
        try:
            if self._process is None:
                self._process = await _begun()
            yield self._process
        except BaseException:
            await self.close()
            raise


async def _begun() -> Process:
    """A process that reads. Raises CheckFailed."""
    try:
        process = await _started()
    except OSError as error:
        raise CheckFailed(f"the process that checks it could not be started: {error.strerror}") from error
    try:
        await _up(process)
    except BaseException as error:
        await _killed(process)
        if isinstance(error, TimeoutError | asyncio.IncompleteReadError):
            raise CheckFailed("the process that checks it did not come up") from error
        raise
    return process


async def _started() -> Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-X", "utf8", "-c", _PROGRAM, str(_ROOT)),
        env={},  # what looks at a model's texts is shown nothing of ours
        cwd="/",
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        limit=_LONGEST,
        start_new_session=True,  # for a priority of its own
    )


async def _up(process: Process) -> None:
    """Wait until it reads: its start is not the time of a call."""
    assert process.stdout is not None
    async with asyncio.timeout(_START):
        await process.stdout.readuntil()


def _has_ended(process: Process) -> bool:
    """Asks the kernel: the event loop learns of it a moment later."""
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # the event loop is about to learn of it
        return True


async def _killed(process: Process) -> None:
    """End a process, and see it end. One that the kernel holds up (a file system that is away) ends when it can:
    others do not wait for it."""
    with suppress(ProcessLookupError):
        process.kill()
    await _code(process)


async def _code(process: Process) -> int | None:
    """How a process ended that has closed its output; None: it goes on."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_END):
            return await process.wait()
    return None


def _ended(code: int | None, limits: Limits) -> str:
    """Why a process ended over a call: the kernel has kept it to its limits, or it crashed."""
    if code == -signal.SIGPROF:
        return f"that took more than {limits.cpu:g} s of computing"
    if code == -signal.SIGALRM:
        return _too_long(limits)
    if code is None or code >= 0:
        return f"the process that checks it ended{'' if code is None else f' with code {code}'}"
    return f"the process that checks it was ended by {signal.Signals(-code).name}"


def _too_long(limits: Limits) -> str:
    return f"that took more than {limits.clock:g} s"


@asynccontextmanager
async def planning(**limits: float) -> AsyncIterator[Planner]:
    """A planner, as long as the block runs."""
    planner = Planner(**limits)
    try:
        yield planner
    finally:
        await planner.close()
