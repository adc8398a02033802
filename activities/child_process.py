"""Starts the programs that work for an agent, and ends each with all its processes."""

import asyncio
import os
import signal
import subprocess
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

_EXIT_TIMEOUT: Final = 1.0  # seconds from SIGKILL, or from closed output, to the exit
_STREAMS: Final[dict[str, Any]] = {"stdin": DEVNULL, "stdout": PIPE, "stderr": DEVNULL}
_CHUNK: Final = 64 * 1024


async def start_child(
    *argv: str, directory: str | Path | None, environment: Mapping[str, str], **options: Any
) -> Process:
    """A program with this environment and nothing of ours, in a session of its own: a terminal's Ctrl-C does not reach
    it, and what it starts is in its group. `options` are asyncio's; without them its output is read, and it has no
    input. Raises OSError."""
    # When a worker is killed, its child lives on until it notices its closed pipes, unless it has called
    # `die_with_parent`: code of ours between fork and exec is not safe in a process with threads.
    return await asyncio.create_subprocess_exec(
        *argv, cwd=directory, env=environment, start_new_session=True, **(_STREAMS | options)
    )


def run_detaching(*argv: str, directory: str, environment: Mapping[str, str]) -> bytes:
    """Run a program that leaves a process of its own behind, and wait for it alone, in a thread; what it writes to its
    standard error."""
    # not by uvloop, which leaves a child second descriptors of its streams: their end would be that of both processes
    return subprocess.run(argv, cwd=directory, env=environment, check=False, stdin=DEVNULL, capture_output=True).stderr


@asynccontextmanager
async def running_child(*argv: str, timeout: float | None, **options: Any) -> AsyncIterator[Process]:
    """A child, with the options of `start_child`, for the time of the block. Raises OSError, and TimeoutError after
    `timeout` seconds."""
    process = await start_child(*argv, **options)
    try:
        async with asyncio.timeout(timeout):
            yield process
    finally:
        await kill_child(process)


async def kill_child(process: Process) -> None:
    """Kill a child, and what is left of its group if it has ended."""
    if process.returncode is None or not _exists(process.pid):  # else its number is another's, and its group is gone
        with suppress(ProcessLookupError, PermissionError):  # macOS refuses for a zombie
            os.killpg(process.pid, signal.SIGKILL)
    await exit_code(process)


async def exit_code(process: Process) -> int | None:
    """The code of a child that has been killed or has closed its output; None if it still runs: a file system that is
    away keeps it in the kernel."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_EXIT_TIMEOUT):
            for stream in filter(None, (process.stdout, process.stderr)):
                while await stream.read(_CHUNK):  # unread output keeps its pipe open here
                    pass
            await process.wait()
    return process.returncode


def _exists(pid: int) -> bool:
    with suppress(ProcessLookupError):
        return os.getpgid(pid) > 0
    return False
