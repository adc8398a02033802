"""Typed lines, Ctrl-C and the time to redraw as one stream; the keyboard behind it."""

import asyncio
import errno
import os
import re
import select
import signal
import sys
import termios
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from activities.cancellation import cancel_and_wait
from worker.cli.render.terminal_writer import TerminalWriter
from worker.settings import Settings
from workflows.domain.ids import AskId
from workflows.domain.value import Value
from workflows.domain.views.deltas import PublishedDelta
from workflows.domain.views.events import EventWithContents

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.buffer import Buffer
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

_AHEAD: Final = 100  # events that wait; some are long
_REDRAW_INTERVAL: Final = 0.2  # seconds
_LONGEST_KEPT: Final = 10_000  # characters of a prompt in the history, which is read whole
_CONTROLS: Final = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O.|[^\x1b])?|[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class LineEntered(Value):
    """A typed line, None at the end of the input; `ask` was shown when it was entered."""

    text: str | None
    ask: AskId | None = None


class TabPressed(Value):
    """Tab was pressed at a prompt; it is no part of the text."""


class Interrupted(Value):
    """Ctrl-C, or SIGTERM of another process."""

    terminated: bool = False


class Keyboard:
    """Takes what a person types: prompt_toolkit edits it in the line below the foot of a live terminal, and keeps
    prompts in the file `history`; elsewhere the terminal itself edits whole lines.

    `put` gets what was typed; an OSError at the end of a live terminal: SIGHUP does not reach every process.
    """

    def __init__(
        self,
        put: Callable[[LineEntered | TabPressed | Interrupted | OSError], None],
        writer: TerminalWriter | None,
        history: Path,
    ) -> None:
        self.open = False
        self.draft = ""  # the half-typed prompt while an ask is shown
        self._ask: AskId | None = None
        self._put = put
        self._history = history
        self._session = writer.session if writer is not None and writer.live else None
        self._editing: asyncio.Task[None] | None = None

    @property
    def typed(self) -> str:
        return self._session.default_buffer.text if self._session is not None else ""

    @typed.setter
    def typed(self, text: str) -> None:
        if self._session is not None:
            self._session.default_buffer.reset()
            self._session.default_buffer.insert_text(text)

    def listen(self) -> None:
        """Take keys. What was typed ahead is a prompt, if it ends with Enter: no ask was shown yet."""
        if self.open:
            return
        self.open = True
        if self._session is None:
            termios.tcflush(sys.stdin, termios.TCIFLUSH)
            asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._read_line)
            return
        with self._session.app.input.raw_mode():
            if self._ask is None and select.select([sys.stdin], [], [], 0)[0]:
                ahead = os.read(sys.stdin.fileno(), 65536).decode("utf-8", "replace")
                ahead = _CONTROLS.sub("", ahead.replace("\r", "\n"))  # Enter, as the terminal gives it from here on
                self.typed = "" if ahead.endswith("\n") else ahead
                if ahead.strip() and not self.typed:
                    self._put(LineEntered(text=ahead.strip()))
        self._editing = asyncio.create_task(self._edit(self._session))

    def begin_answer(self, ask: AskId) -> None:
        """Drops earlier keys: they were typed before the ask was shown."""
        self.listen()
        if self._ask is None:
            self.draft = self.typed
        self._ask, self.typed = ask, ""
        termios.tcflush(sys.stdin, termios.TCIFLUSH)

    def begin_prompt(self) -> None:
        """Restores the draft from before the ask."""
        if self._ask is not None:
            self._ask, self.typed, self.draft = None, self.draft, ""

    async def release(self) -> None:
        if self._editing is not None:
            await cancel_and_wait(self._editing)
        elif self.open:
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
        self.open = False

    def _end(self, last: LineEntered | OSError) -> None:
        self.open = False
        self._put(last)

    def _read_line(self) -> None:
        read = b""
        with suppress(OSError):  # the terminal was closed
            read = os.read(sys.stdin.fileno(), 65536)
        if read:
            self._put(LineEntered(text=read.decode("utf-8", "replace").removesuffix("\n"), ask=self._ask))
        else:
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            self._end(LineEntered(text=None, ask=self._ask))

    async def _edit(self, session: "PromptSession[None]") -> None:
        from prompt_toolkit.history import FileHistory  # start-up time

        with suppress(OSError):  # else there is no history
            self._history.touch(mode=0o600)
            session.default_buffer.history = FileHistory(self._history)
        session.key_bindings = self._bindings(session.default_buffer)
        session.app.renderer.erase()
        session.app.output.write_raw("\r")  # over what the terminal has echoed of earlier keys
        try:
            await session.app.run_async(set_exception_handler=False, handle_sigint=False)
        except EOFError:
            closed = OSError(errno.EIO, "The terminal was closed")  # as a write to it would fail
            self._end(closed if session.app.input.closed else LineEntered(text=None, ask=self._ask))

    def _bindings(self, line: "Buffer") -> "KeyBindings":
        """The keys that mean something else than to prompt_toolkit."""
        from prompt_toolkit.filters import has_focus  # start-up time
        from prompt_toolkit.key_binding import KeyBindings

        keys, typing = KeyBindings(), has_focus(line)

        @keys.add("enter", filter=typing)
        def enter(event: "KeyPressEvent") -> None:
            if self._ask is None and event.key_processor.input_queue:  # more text follows: an unmarked paste
                line.insert_text("\n")
                return
            event.key_processor.empty_queue()  # what follows an answer is not for the next question
            line.text = _CONTROLS.sub("", line.text)  # a paste may hold any
            self._put(LineEntered(text=line.text, ask=self._ask))
            line.reset(append_to_history=self._ask is None and len(line.text) <= _LONGEST_KEPT)

        @keys.add("tab", filter=typing)
        def tab(event: "KeyPressEvent") -> None:
            if self._ask is None and not event.key_processor.input_queue:  # alone: with more, it is pasted text
                self._put(TabPressed())
            else:
                line.insert_text("\t")

        keys.add("escape", "enter", filter=typing)(lambda _: line.insert_text("\n"))
        keys.add("c-c", filter=typing)(lambda _: self._put(Interrupted()))
        return keys


class RedrawTick(Value):
    """No event waits: time to redraw the footer."""


UiEvent: TypeAlias = EventWithContents | PublishedDelta | LineEntered | Interrupted | TabPressed | RedrawTick


class TerminalInput:
    """Handles Ctrl-C from `__aenter__` on, and the keyboard from `listen` on."""

    def __init__(self, writer: TerminalWriter | None, settings: Settings) -> None:
        self.keyboard = Keyboard(self._put_urgent, writer, settings.home / "history")
        self._live = writer is not None and writer.live
        self._queue: asyncio.Queue[UiEvent | Exception] = asyncio.Queue(_AHEAD)
        self._urgent: deque[UiEvent | Exception] = deque()
        self._terminal_lent = False
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        handlers = {
            signal.SIGINT: self._on_interrupt,
            signal.SIGTERM: lambda: self._put_urgent(Interrupted(terminated=True)),
        }
        for number, handler in handlers.items():
            loop.add_signal_handler(number, handler)
            self._stack.callback(loop.remove_signal_handler, number)
        self._stack.push_async_callback(self.keyboard.release)
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
        await self.keyboard.release()
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


def is_interactive() -> bool:
    """Whether standard input and output are a terminal, with this process in its foreground."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
