"""Follows a running command to its end."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from activities.shell.lease import CallDirectory, CommandEnd

POLL_INTERVAL: Final = 0.25  # seconds between calls of `on_poll`


async def wait_for_exit(directory: CallDirectory, on_poll: Callable[[], Awaitable[None]]) -> CommandEnd | None:
    """Wait for the command's end; None if the supervisor died without recording it. Meanwhile, renews the lease and
    calls `on_poll`."""
    async with _watch_exit(directory) as exited:
        while not exited.done():
            await asyncio.wait({exited}, timeout=POLL_INTERVAL)
            await asyncio.to_thread(directory.renew)
            await on_poll()
    return directory.end()


@asynccontextmanager
async def _watch_exit(directory: CallDirectory) -> AsyncIterator[asyncio.Future[None]]:
    """The future is done once the exit FIFO has no writer."""
    loop = asyncio.get_running_loop()
    exited: asyncio.Future[None] = loop.create_future()
    exit_fifo = os.open(directory.exit_fifo, os.O_RDONLY | os.O_NONBLOCK)

    def mark_exited() -> None:
        loop.remove_reader(exit_fifo)
        exited.set_result(None)

    loop.add_reader(exit_fifo, mark_exited)
    try:
        if _has_no_writer(exit_fifo):
            mark_exited()
        yield exited
    finally:
        loop.remove_reader(exit_fifo)
        os.close(exit_fifo)


def _has_no_writer(exit_fifo: int) -> bool:
    # Without a writer, a read does not block: it returns the end of the file.
    try:
        return os.read(exit_fifo, 1) == b""
    except BlockingIOError:
        return False
