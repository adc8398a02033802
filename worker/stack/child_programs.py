"""Runs programs, and leaves nothing of them behind."""

import asyncio
import os
import shutil
import signal
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, NamedTuple

_DIRECTORIES: Final = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"


class ProgramResult(NamedTuple):
    """An exit code, and both outputs in one text."""

    code: int
    output: str


def find(name: str, environment: Mapping[str, str]) -> str | None:
    """A program on PATH or in the system's directories: `su` omits /usr/sbin, which has `useradd`."""
    return shutil.which(name, path=environment.get("PATH")) or shutil.which(name, path=_DIRECTORIES)


@asynccontextmanager
async def started(*argv: str, environment: Mapping[str, str], **options: Any) -> AsyncIterator[Process]:
    """A program in its own session, both outputs in `stdout`; the end of the block kills what is left of it."""
    streams = {"stdin": DEVNULL, "stdout": PIPE, "stderr": STDOUT}
    process = await asyncio.create_subprocess_exec(
        *argv, env=environment, start_new_session=True, **(streams | options)
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def run(*argv: str, environment: Mapping[str, str], text: str = "", **options: Any) -> ProgramResult:
    """`text` is its input. Raises OSError if it cannot be started."""
    async with started(*argv, environment=environment, stdin=PIPE, **options) as process:
        output, _ = await process.communicate(text.encode())
    return ProgramResult(await process.wait(), output.decode(errors="replace").strip())
