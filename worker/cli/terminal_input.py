"""Typed lines, Ctrl-C and the time to redraw as one stream."""

import asyncio
import os
import signal
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, suppress
from typing import Final, Self, TypeAlias

from worker.api.events import EventWithContents, PublishedDelta
from worker.cli.keyboard import Keyboard, LineEntered, TabPressed
from workflows.domain.value import Value

_AHEAD: Final = 100  # events that wait; some are long
_REDRAW_INTERVAL: Final = 0.2  # seconds


class Interrupted(Value):
    """Ctrl-C, or SIGTERM of another process."""

    terminated: bool = False


class RedrawTick(Value):
    """No event waits: time to redraw the footer."""


UiEvent: TypeAlias = EventWithContents | PublishedDelta | LineEntered | Interrupted | TabPressed | RedrawTick


class TerminalInput:
    """Handles Ctrl-C from `__aenter__` on, and the keyboard from `keyboard.listen` on."""

    def __init__(self, *, live: bool) -> None:
        self.keyboard = Keyboard(self._put_urgent, self._wake, live=live)
        self._live = live
        self._queue: asyncio.Queue[UiEvent | Exception] = asyncio.Queue(_AHEAD)
        self._urgent: deque[UiEvent | Exception] = deque()
        self._terminal_lent = False
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        handlers = {
            signal.SIGINT: self._on_interrupt,
            signal.SIGTERM: lambda: self._put_urgent(Interrupted(terminated=True)),
            signal.SIGCONT: self._on_continue,
        }
        for number, handler in handlers.items():
            loop.add_signal_handler(number, handler)
            self._stack.callback(loop.remove_signal_handler, number)
        self._stack.callback(self.keyboard.release)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def ui_events(self) -> AsyncIterator[UiEvent]:
        """What a person does comes first; ticks come on a live terminal only. Raises OSError when it is closed."""
        while True:
            await asyncio.sleep(0)  # lets signal handlers run though more events are queued
            if self._live and not self._urgent and self._queue.empty():
                yield RedrawTick()
            if not self._urgent:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_REDRAW_INTERVAL if self._live else None):
                        self._urgent.append(await self._queue.get())
            if self._urgent:
                ui_event = self._urgent.popleft()
                if isinstance(ui_event, Exception):
                    raise ui_event
                yield ui_event

    async def lend_terminal(self, program: Callable[[], None]) -> None:
        """Run another program on the terminal; it gets all keys, also Ctrl-C."""
        self.keyboard.release()
        self._terminal_lent = True
        try:
            await asyncio.to_thread(program)
        finally:
            self._terminal_lent = False
            self.keyboard.listen()

    def _wake(self) -> None:
        if self._queue.empty():
            self._queue.put_nowait(RedrawTick())

    def _put_urgent(self, ui_event: UiEvent | Exception) -> None:
        self._urgent.append(ui_event)
        self._wake()

    def _on_interrupt(self) -> None:
        if not self._terminal_lent:
            self._put_urgent(Interrupted())

    def _on_continue(self) -> None:
        """SIGCONT after Ctrl-Z: take the keyboard back if in the foreground."""
        if is_interactive():
            self.keyboard.resume()
            self._wake()
        else:
            self.keyboard.detach()


def is_interactive() -> bool:
    """Whether standard input and output are a terminal, with this process in its foreground."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
