"""Following a session: its events, what a person types, and Ctrl-C, as one stream; the stack is kept up meanwhile."""

import asyncio
import errno
import os
import signal
import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing
from typing import Final, Self, TypeAlias, TypeVar

import click

from activities.cancelling import ended
from worker.cli import absent, door
from worker.cli.keyboard import Keyboard
from worker.cli.look.screen import Screen
from worker.cli.relay import Relay
from worker.client import Delta, Seen, SessionClient
from worker.settings import Settings
from worker.stack.status import status
from workflows.domain.errors import Unavailable
from workflows.domain.ids import AskId, SessionId
from workflows.domain.value import Value

T = TypeVar("T")

thinking_option = click.option("--thinking", is_flag=True, help="Show what the model thinks, too.")
_LOOK: Final = 1.0  # seconds between two looks at the stack: nobody tells us of the end of another's process
_AHEAD: Final = 100  # happenings that wait for a slow terminal; some are long
_BEAT: Final = 0.2  # seconds between two lulls


class Typed(Value):
    """A line that a person has typed, and the ask that was shown meanwhile; None at the end of the input."""

    text: str | None
    ask: AskId | None = None


class Interrupted(Value):
    """Ctrl-C."""


class Lull(Value):
    """Nothing waits to be told just now: the moment to bring the screen up to date."""


Happening: TypeAlias = Seen | Delta | Typed | Interrupted | Lull


class Follower:
    """What happens to a session after `seq`, in order and without end, from the beginning of the `async with` on.

    Nothing more is told while the relay is behind, but what a person does is heard. `screen` is where it is told to
    people; one that is live has to be brought up to date in lulls.
    """

    def __init__(
        self,
        client: SessionClient,
        session: SessionId,
        seq: int,
        relay: Relay,
        screen: Screen | None = None,
    ) -> None:
        self._client = client
        self._session = session
        self._seq = seq
        self._queue: asyncio.Queue[Happening | Exception] = asyncio.Queue()
        self._urgent: deque[Happening] = deque()
        self._room = asyncio.Semaphore(_AHEAD)
        self._failed: Exception | None = None
        self._relay = relay
        self._alive = screen is not None and screen.page.live
        self._hears = screen is not None
        self._lent = False
        self.say = screen.say if screen is not None else door.say
        self.keyboard = Keyboard(self._entered, self._touched, self._closed, alive=self._alive)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        handlers = {signal.SIGINT: self._interrupted, signal.SIGCONT: self._continued}
        for number, handler in handlers.items():
            loop.add_signal_handler(number, handler)
            self._stack.callback(loop.remove_signal_handler, number)
        kept_up = keep_up(self._client.settings, self.say)
        told = absent.tell(self._client, self._session, self.say)
        for work in (self._watch(), kept_up, told, self._relay.broken()):
            self._stack.push_async_callback(ended, asyncio.create_task(self._feed(work)))
        self._stack.callback(self.keyboard.rest)
        if self._hears and at_a_terminal():
            self.keyboard.listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def happenings(self) -> AsyncIterator[Happening]:
        """Raises Unavailable when somebody takes the stack down, or when it cannot be brought up again."""
        news = True
        while True:
            await self._heard()
            # That time goes on is no news: on a terminal that is not read, signs of life would only pile up.
            if self._alive and not self._urgent and self._queue.empty() and (news or self._relay.idle):
                yield Lull()
            news = (happening := await self._next()) is not None
            if happening is not None:
                yield happening

    async def _next(self) -> Happening | None:
        """What happens next; None when a lull is due before."""
        if self._urgent:
            return self._urgent.popleft()
        try:
            async with asyncio.timeout(_BEAT if self._alive else None):
                happening = await self._queue.get()
        except TimeoutError:
            return None
        if isinstance(happening, Exception):
            raise happening
        if isinstance(happening, (Seen, Delta)):
            self._room.release()
        return happening

    async def _heard(self) -> None:
        """Wait until what was told is read, but for a little, or until a person does something."""
        await asyncio.sleep(0)  # signals are heard here, though the next happenings are there already
        while not self._urgent and self._relay.behind:
            self._relay.stirred.clear()
            await self._relay.stirred.wait()

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

    async def lend_terminal(self, program: Callable[[], None]) -> None:
        """Have another program use the terminal until it ends: the keys are its own, Ctrl-C among them."""
        await self._relay.drained()
        self.keyboard.rest()
        self._lent = True
        try:
            await asyncio.to_thread(program)
        finally:
            self._lent = False
            self.keyboard.listen()

    def _interrupted(self) -> None:
        if not self._lent:
            self._hurry(Interrupted())

    def _entered(self, text: str | None, ask: AskId | None) -> None:
        self._hurry(Typed(text=text, ask=ask))

    def _hurry(self, happening: Happening) -> None:
        """What a person does is heard before what is still to be told, however slow the terminal is."""
        self._urgent.append(happening)
        self._touched()
        self._relay.stirred.set()

    def _closed(self) -> None:
        self._queue.put_nowait(OSError(errno.EIO, "The terminal was closed"))  # as whoever writes to it is told

    def _touched(self) -> None:
        self._queue.put_nowait(Lull())

    def _continued(self) -> None:
        """Going on after Ctrl-Z: in the foreground, where the shell has set the terminal its way, or behind it."""
        if at_a_terminal():
            self.keyboard.resume()
            self._touched()
        else:
            self.keyboard.leave()

    async def _watch(self) -> None:
        async with aclosing(self._client.watch(self._session, self._seq, below=True)) as watched:
            async for happening in watched:
                await self._room.acquire()
                self._queue.put_nowait(happening)

    async def _feed(self, work: Awaitable[None]) -> None:
        try:
            await work
        except Exception as error:  # whatever it is, it is raised again where the happenings are taken
            self._failed = error
            self._queue.put_nowait(error)


async def keep_up(settings: Settings, say: Callable[[str], None]) -> None:
    """Bring the stack up again whenever it is gone. Raises Unavailable once somebody has taken it down."""
    while True:
        seen = status(settings)
        if seen.stopped:
            raise Unavailable(
                "The stack was stopped with `holdfast down`. The task waits for its next start: `holdfast up`."
            )
        if seen.supervisor is None:  # one that lives is serving, or somebody is just starting or stopping it
            await door.started(settings, say)
        await asyncio.sleep(_LOOK)


def at_a_terminal() -> bool:
    """Whether a person can be asked: input and output are a terminal, and it is ours just now."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
