"""Follows a command to its end, whoever has started it."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from activities.shell.lease import CallDirectory, End

LOOK_PERIOD: Final = 0.25  # seconds between two looks at the output, for people who watch; the end comes by itself


async def follow(directory: CallDirectory, look: Callable[[], Awaitable[None]]) -> End | None:
    """How the command has ended, once it has; None when its supervisor died without saying.

    `look` is called while it runs, several times a second; all the while the lease is renewed.
    """
    async with _bell(directory) as rung:
        while not rung.done():
            await asyncio.wait({rung}, timeout=LOOK_PERIOD)
            await asyncio.to_thread(directory.renew)
            await look()
    return directory.end()


@asynccontextmanager
async def _bell(directory: CallDirectory) -> AsyncIterator[asyncio.Future[None]]:
    """Done as soon as nobody holds the bell open for writing."""
    loop = asyncio.get_running_loop()
    rung: asyncio.Future[None] = loop.create_future()
    bell = os.open(directory.bell, os.O_RDONLY | os.O_NONBLOCK)

    def ring() -> None:
        loop.remove_reader(bell)
        rung.set_result(None)

    loop.add_reader(bell, ring)
    try:
        if _silent(bell):
            ring()
        yield rung
    finally:
        loop.remove_reader(bell)
        os.close(bell)


def _silent(bell: int) -> bool:
    """Whether there is no writer: only then reading finds the end."""
    try:
        return os.read(bell, 1) == b""
    except BlockingIOError:
        return False
