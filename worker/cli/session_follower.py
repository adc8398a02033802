"""A session's events, typed lines and Ctrl-C as one stream; keeps the stack running."""

import asyncio
import errno
import os
import signal
import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing
from typing import Final, Self, TypeAlias, TypeVar

from activities.cancellation import cancel_and_wait
from worker.api.events import EventWithContents, PublishedDelta
from worker.cli import absent_worker, command_support
from worker.cli.keyboard import Keyboard
from worker.cli.render.terminal import Terminal
from worker.client import SessionClient
from worker.settings import Settings
from worker.stack.status import status
from workflows.domain.errors import Unavailable
from workflows.domain.ids import AskId, SessionId
from workflows.domain.value import Value

T = TypeVar("T")

_POLL_INTERVAL: Final = 1.0  # seconds: the end of another's process is not signalled
_AHEAD: Final = 100  # events that wait for a slow terminal; some are long
_BEAT: Final = 0.2  # seconds between two redraws


class LineEntered(Value):
    """A typed line, None at the end of the input; `ask` was shown when it was entered."""

    text: str | None
    ask: AskId | None = None


class Interrupted(Value):
    """Ctrl-C."""


class RedrawTick(Value):
    """No event waits: time to redraw the footer."""


UiEvent: TypeAlias = EventWithContents | PublishedDelta | LineEntered | Interrupted | RedrawTick


class SessionFollower:
    """Yields what happens to a session after `seq`, in order, from `__aenter__` on.

    Typed lines and Ctrl-C come before waiting events. A live `terminal` gets redraw ticks.
    """

    def __init__(
        self,
        client: SessionClient,
        session: SessionId,
        seq: int,
        terminal: Terminal | None = None,
    ) -> None:
        self.client = client
        self.session = session
        self.terminal = terminal
        self._seq = seq
        self._queue: asyncio.Queue[UiEvent | Exception] = asyncio.Queue()
        self._urgent: deque[UiEvent] = deque()
        self._room = asyncio.Semaphore(_AHEAD)
        self._failed: Exception | None = None
        self._live = terminal is not None and terminal.writer.live
        self._terminal_lent = False
        self.print_note = terminal.print_note if terminal is not None else command_support.print_note
        self.keyboard = Keyboard(self._on_line, self._on_change, self._on_close, live=self._live)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        handlers = {signal.SIGINT: self._on_interrupt, signal.SIGCONT: self._on_continue}
        for number, handler in handlers.items():
            loop.add_signal_handler(number, handler)
            self._stack.callback(loop.remove_signal_handler, number)
        kept_up = keep_stack_up(self.client.settings, self.print_note)
        absence_watch = absent_worker.report_absent_worker(self.client, self.session, self.print_note)
        for work in (self._watch(), kept_up, absence_watch):
            self._stack.push_async_callback(cancel_and_wait, asyncio.create_task(self._feed(work)))
        self._stack.callback(self.keyboard.release)
        if self.terminal is not None and is_interactive():
            self.keyboard.listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def ui_events(self) -> AsyncIterator[UiEvent]:
        """Raises Unavailable when the stack is taken down or cannot be restarted."""
        while True:
            await asyncio.sleep(0)  # lets signal handlers run though more events are queued
            if self._live and not self._urgent and self._queue.empty():
                yield RedrawTick()
            if (ui_event := await self._next()) is not None:
                yield ui_event

    async def _next(self) -> UiEvent | None:
        """The next event; None if a redraw is due first."""
        if self._urgent:
            return self._urgent.popleft()
        try:
            async with asyncio.timeout(_BEAT if self._live else None):
                ui_event = await self._queue.get()
        except TimeoutError:
            return None
        if isinstance(ui_event, Exception):
            raise ui_event
        if isinstance(ui_event, (EventWithContents, PublishedDelta)):
            self._room.release()
        return ui_event

    async def wait_until_reachable(self, reading: Callable[[], Awaitable[T]]) -> T:
        """Retry `reading` until the database answers. Raises Unavailable as `ui_events`."""
        while True:
            try:
                return await reading()
            except Unavailable:
                if self._failed is not None:
                    raise self._failed from None
                await asyncio.sleep(_POLL_INTERVAL)

    async def lend_terminal(self, program: Callable[[], None]) -> None:
        """Run another program on the terminal; it gets all keys, also Ctrl-C."""
        self.keyboard.release()
        self._terminal_lent = True
        try:
            await asyncio.to_thread(program)
        finally:
            self._terminal_lent = False
            self.keyboard.listen()

    def _on_interrupt(self) -> None:
        if not self._terminal_lent:
            self._put_urgent(Interrupted())

    def _on_line(self, text: str | None, ask: AskId | None) -> None:
        self._put_urgent(LineEntered(text=text, ask=ask))

    def _put_urgent(self, ui_event: UiEvent) -> None:
        """Put a person's action before waiting events."""
        self._urgent.append(ui_event)
        self._on_change()

    def _on_close(self) -> None:
        self._queue.put_nowait(OSError(errno.EIO, "The terminal was closed"))  # as a write to it would fail

    def _on_change(self) -> None:
        self._queue.put_nowait(RedrawTick())

    def _on_continue(self) -> None:
        """SIGCONT after Ctrl-Z: take the keyboard back if in the foreground."""
        if is_interactive():
            self.keyboard.resume()
            self._on_change()
        else:
            self.keyboard.detach()

    async def _watch(self) -> None:
        async with aclosing(self.client.records.watch(self.session, self._seq, with_subagents=True)) as watched:
            async for ui_event in watched:
                await self._room.acquire()
                self._queue.put_nowait(ui_event)

    async def _feed(self, work: Awaitable[None]) -> None:
        try:
            await work
        except Exception as error:  # raised again in ui_events
            self._failed = error
            self._queue.put_nowait(error)


async def keep_stack_up(settings: Settings, print_note: Callable[[str], None]) -> None:
    """Restart the stack whenever it is gone. Raises Unavailable once it was taken down on purpose."""
    while True:
        seen = status(settings)
        if seen.stopped:
            raise Unavailable(
                "The stack was stopped with `holdfast down`. The task waits for its next start: `holdfast up`."
            )
        if seen.supervisor is None:  # a live one is serving, starting or stopping
            await command_support.start_stack(settings, print_note)
        await asyncio.sleep(_POLL_INTERVAL)


def is_interactive() -> bool:
    """Whether standard input and output are a terminal, with this process in its foreground."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
