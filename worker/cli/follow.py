"""Following a session: its events, what a person types, and Ctrl-C, as one stream; the stack is kept up meanwhile."""

import asyncio
import os
import signal
import sys
import termios
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing
from typing import Final, Self, TypeAlias, TypeVar

from worker.cli import absent, door
from worker.client import Delta, Seen, SessionClient
from worker.settings import Settings
from worker.stack.status import status
from workflows.domain.errors import Unavailable
from workflows.domain.ids import SessionId
from workflows.domain.value import Value

T = TypeVar("T")

_LOOK: Final = 1.0  # seconds between two looks at the stack: nobody tells us of the end of another's process
_AHEAD: Final = 1000  # happenings that wait for a slow terminal


class Typed(Value):
    """A line that a person has typed; None at the end of the input."""

    text: str | None


class Interrupted(Value):
    """Ctrl-C."""


Happening: TypeAlias = Seen | Delta | Typed | Interrupted


class Follower:
    """What happens to a session after `seq`, in order and without end, from the beginning of the `async with` on."""

    def __init__(self, client: SessionClient, session: SessionId, seq: int = 0) -> None:
        self._client = client
        self._session = session
        self._seq = seq
        self._queue: asyncio.Queue[Happening | Exception] = asyncio.Queue(_AHEAD)
        self._failed: Exception | None = None
        self._listening = False
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._queue.put_nowait, Interrupted())
        self._stack.callback(loop.remove_signal_handler, signal.SIGINT)
        for work in (self._watch(), keep_up(self._client.settings), absent.tell(self._client, self._session)):
            self._stack.push_async_callback(_ended, asyncio.create_task(self._feed(work)))
        self._stack.callback(self.rest)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def happenings(self) -> AsyncIterator[Happening]:
        """Raises Unavailable when somebody takes the stack down, or when it cannot be brought up again."""
        while True:
            happening = await self._queue.get()
            if isinstance(happening, Exception):
                raise happening
            yield happening

    async def reached(self, reading: Callable[[], Awaitable[T]]) -> T:
        """What `reading` gives, as soon as the database answers: like a happening, it waits for a stack that is
        brought up again. Raises Unavailable as `happenings` does."""
        while True:
            try:
                return await reading()
            except Unavailable:
                if self._failed is not None:
                    raise self._failed from None
                await asyncio.sleep(_LOOK)

    def listen(self) -> None:
        """Take lines from the terminal from now on; what was typed before could not be meant, and is dropped."""
        if not self._listening:
            self._listening = True
            termios.tcflush(sys.stdin, termios.TCIFLUSH)
            asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._read)

    def rest(self) -> None:
        """Take no more lines."""
        if self._listening:
            self._listening = False
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())

    def _read(self) -> None:
        """A terminal gives one whole line at a time, and nothing at the end of the input or when it was closed."""
        try:
            text = os.read(sys.stdin.fileno(), 65536).decode(errors="replace")
        except OSError:
            text = ""
        if not text:
            self.rest()
        self._queue.put_nowait(Typed(text=text.rstrip("\r\n") if text else None))

    async def _watch(self) -> None:
        async with aclosing(self._client.watch(self._session, self._seq, below=True)) as watched:
            async for happening in watched:
                await self._queue.put(happening)

    async def _feed(self, work: Awaitable[None]) -> None:
        try:
            await work
        except Exception as error:  # whatever it is, it is raised again where the happenings are taken
            self._failed = error
            await self._queue.put(error)


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


async def keep_up(settings: Settings) -> None:
    """Bring the stack up again whenever it is gone. Raises Unavailable once somebody has taken it down."""
    while True:
        seen = status(settings)
        if seen.stopped:
            raise Unavailable(
                "The stack was stopped with `holdfast down`. The task waits for its next start: `holdfast up`."
            )
        if seen.supervisor is None:  # one that lives is serving, or somebody is just starting or stopping it
            await door.started(settings)
        await asyncio.sleep(_LOOK)


def at_a_terminal() -> bool:
    """Whether a person can be asked: input and output are a terminal, and it is ours just now."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
