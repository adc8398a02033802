"""Checks calls in a process that can be killed, so no text blocks a worker."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from activities.calls.planner.messages import PlannerLimits, PlanRequest, decode_result
from activities.child_process import exit_code, kill_child, start_child
from workflows.domain.effects import Plan
from workflows.domain.errors import CheckFailed

_ROOT: Final = Path(__file__).parents[3]
_PROGRAM: Final = """
import sys
sys.path.append(sys.argv.pop(1))
from activities.calls.planner.priority import lower_priority
lower_priority()
from activities.calls.planner.planner_process import main
main()
"""
_CPU_SECONDS: Final = 2.0  # seconds per call
_WALL_SECONDS: Final = 10.0  # seconds per call
_START_TIMEOUT: Final = 60.0  # seconds
_MAX_REPLY_BYTES: Final = 256 * 1024 * 1024  # bytes: a plan holds the diff of two files


class Planner:
    """One process per worker, started by the first call that needs it and replaced when it dies."""

    def __init__(self, cpu_seconds: float = _CPU_SECONDS, wall_seconds: float = _WALL_SECONDS) -> None:
        self.limits = PlannerLimits(cpu_seconds, wall_seconds)
        self._lock = asyncio.Lock()
        self._process: Process | None = None

    async def plan(self, request: PlanRequest) -> Plan:
        """Raises ToolError, CheckFailed."""
        limits = self.limits.for_arguments(request.arguments)
        line = request.encode(limits)
        async with self._lock, self._process_for_call() as process:
            reply = await self._request_reply(process, line, limits)
        return decode_result(reply)

    async def _request_reply(self, process: Process, line: bytes, limits: PlannerLimits) -> bytes:
        assert process.stdin is not None and process.stdout is not None
        try:
            async with asyncio.timeout(limits.wall_seconds):
                process.stdin.write(line)
                await process.stdin.drain()
                return await process.stdout.readuntil()
        except TimeoutError as error:
            raise CheckFailed(_describe_timeout(limits)) from error
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            raise CheckFailed(_describe_exit(await exit_code(process), limits)) from error

    async def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await kill_child(process)

    @asynccontextmanager
    async def _process_for_call(self) -> AsyncIterator[Process]:
        """Kills the process if the call fails or is cancelled. Raises CheckFailed."""
        if self._process is not None and _has_ended(self._process):  # since the last call
            self._process = None
        try:
            if self._process is None:
                self._process = await _start_process()
            yield self._process
        except BaseException:
            await self.close()
            raise


async def _start_process() -> Process:
    """Raises CheckFailed."""
    program = (sys.executable, "-I", "-X", "utf8", "-c", _PROGRAM, str(_ROOT))
    try:  # without secrets: it parses a model's texts
        process = await start_child(*program, directory="/", environment={}, stdin=PIPE, limit=_MAX_REPLY_BYTES)
    except OSError as error:
        raise CheckFailed(f"the process that checks it could not be started: {error.strerror}") from error
    try:
        await _wait_until_ready(process)
    except BaseException as error:
        await kill_child(process)
        if isinstance(error, TimeoutError | asyncio.IncompleteReadError):
            raise CheckFailed("the process that checks it did not come up") from error
        raise
    return process


async def _wait_until_ready(process: Process) -> None:
    """The start does not count against the call."""
    assert process.stdout is not None
    async with asyncio.timeout(_START_TIMEOUT):
        await process.stdout.readuntil()


def _has_ended(process: Process) -> bool:
    """Asks the kernel: the event loop learns of the exit later."""
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # the event loop is about to learn of it
        return True


def _describe_exit(code: int | None, limits: PlannerLimits) -> str:
    if code == -signal.SIGPROF:
        return f"that took more than {limits.cpu_seconds:g} s of computing"
    if code == -signal.SIGALRM:
        return _describe_timeout(limits)
    if code is None or code >= 0:
        return f"the process that checks it ended{'' if code is None else f' with code {code}'}"
    return f"the process that checks it was ended by {signal.Signals(-code).name}"


def _describe_timeout(limits: PlannerLimits) -> str:
    return f"that took more than {limits.wall_seconds:g} s"


@asynccontextmanager
async def open_planner(**limits: float) -> AsyncIterator[Planner]:
    planner = Planner(**limits)
    try:
        yield planner
    finally:
        await planner.close()
