"""Programs that run only while another is fetched."""

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress


@asynccontextmanager
async def contained_process(*argv: str, environment: Mapping[str, str]) -> AsyncIterator[Process]:
    """Runs in its own session, both outputs in `stdout`; the end kills the session."""
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, env=environment, start_new_session=True
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
