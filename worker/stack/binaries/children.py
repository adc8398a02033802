"""Programs that run while a program of the stack is fetched, and do not outlive that."""

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress


@asynccontextmanager
async def running(*argv: str, environment: Mapping[str, str]) -> AsyncIterator[Process]:
    """Run a program in a session of its own, both outputs in `stdout`; at the end nothing of that session is left."""
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, env=environment, start_new_session=True
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
