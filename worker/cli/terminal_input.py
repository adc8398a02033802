"""Typed lines, Ctrl-C and the time to redraw as one stream; the keyboard behind it."""

import asyncio
import codecs
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
from typing import Final, Self, TypeAlias

from workflows.domain.ids import AskId
from workflows.domain.value import Value
from workflows.domain.views.deltas import PublishedDelta
from workflows.domain.views.events import EventWithContents

_AHEAD: Final = 100  # events that wait; some are long
_REDRAW_INTERVAL: Final = 0.2  # seconds
_TOKENS: Final = re.compile(
    r"(?P<sequence>\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O.|[^\x1b])?)"  # only paste marks have a meaning here
    r"|(?P<enter>\r\n?|\n)"
    r"|(?P<control>[\x00-\x08\x0b-\x1f\x7f-\x9f])"
    r"|(?P<text>[^\x00-\x08\x0a-\x1f\x7f-\x9f]+)"
)
_CUT: Final = re.compile(r"\x1b(?:\[[0-9;?]*)?\Z")  # a sequence that the next read completes
_PASTE: Final = {"\x1b[200~": True, "\x1b[201~": False}  # a terminal's paste marks
_MARK_PASTES: Final = "\x1b[?2004h"
_MARK_NO_PASTES: Final = "\x1b[?2004l"
_ERASE: Final = "\x7f\b"
_ERASE_WORD: Final = "\x17"
_ERASE_ALL: Final = "\x15"
_END: Final = "\x04"
_TAB: Final = "\t"


class LineEntered(Value):
    """A typed line, None at the end of the input; `ask` was shown when it was entered."""

    text: str | None
    ask: AskId | None = None


class TabPressed(Value):
    """Tab was pressed at a prompt; it is no part of the text."""


class Keyboard:
    """Reads single keys without echo, to redraw the typed line below new output; whole lines if the terminal is not
    `live`.

    `put` gets what was typed; an OSError at the end of a live terminal: SIGHUP does not reach every process.
    """

    def __init__(
        self,
        put: Callable[[LineEntered | TabPressed | OSError], None],
        on_change: Callable[[], None],
        *,
        live: bool,
    ) -> None:
        self._live = live
        self.typed = ""
        self.draft = ""  # the half-typed prompt while an ask is shown
        self._ask: AskId | None = None
        self._put = put
        self._on_change = on_change
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._cut = ""
        self._pasting = False
        self._before: list[int | list[bytes | int]] | None = None

    @property
    def open(self) -> bool:
        return self._before is not None

    def listen(self) -> None:
        """Take keys. Text typed ahead stays in the line, but is not sent: it was not shown yet."""
        if self.open:
            return
        self._before = termios.tcgetattr(sys.stdin)
        self.resume()
        if not self._live:
            termios.tcflush(sys.stdin, termios.TCIFLUSH)
        elif select.select([sys.stdin], [], [], 0)[0]:
            self._pasting = True
            self._read()
            self._pasting = False
            self.typed = self.typed.strip()

    def begin_answer(self, ask: AskId) -> None:
        """Drops earlier keys: they were typed before the ask was shown."""
        self.listen()
        if self._ask is None:
            self.draft = self.typed
        self._ask = ask
        self.clear()
        termios.tcflush(sys.stdin, termios.TCIFLUSH)

    def begin_prompt(self) -> None:
        """Restores the draft from before the ask."""
        if self._ask is not None:
            self.clear()
            self._ask, self.typed, self.draft = None, self.draft, ""

    def clear(self) -> None:
        self.typed, self._cut, self._pasting = "", "", False
        self._decoder.reset()

    def resume(self) -> None:
        """Switch to single keys without echo. Ctrl-C stays a signal, but does not flush pending output."""
        if not self.open:
            return
        asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._read)
        if self._live:
            mode = termios.tcgetattr(sys.stdin)
            mode[3] = mode[3] & ~(termios.ICANON | termios.ECHO) | termios.NOFLSH
            termios.tcsetattr(sys.stdin, termios.TCSANOW, mode)
            _control(_MARK_PASTES)

    def detach(self) -> None:
        """Stop reading, but keep the modes: the terminal belongs to another process group."""
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())

    def release(self) -> None:
        if self._before is None:
            return
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
        with suppress(termios.error, OSError):  # the terminal was closed
            termios.tcsetattr(sys.stdin, termios.TCSANOW, self._before)
            if self._live:
                _control(_MARK_NO_PASTES)
        self._before = None

    def _read(self) -> None:
        try:
            read = os.read(sys.stdin.fileno(), 65536)
        except OSError:  # the terminal was closed
            read = b""
        if read:
            self._take(self._whole(self._cut + self._decoder.decode(read)))
        elif self._live:  # where Ctrl-D is a key like others
            self.release()
            self._put(OSError(errno.EIO, "The terminal was closed"))  # as a write to it would fail
        else:
            self._end_input()

    def _whole(self, text: str) -> str:
        """A lone escape is a key, but inside a paste it may begin the end mark."""
        found = _CUT.search(text)
        self._cut = found[0] if found is not None and (self._pasting or len(found[0]) > 1) else ""
        return text.removesuffix(self._cut)

    def _take(self, text: str) -> None:
        if text == _TAB and not self._pasting and self._ask is None:  # alone: with more, it is pasted text
            self._put(TabPressed())
            return
        for token in _TOKENS.finditer(text):
            match token.lastgroup:
                case "sequence":
                    self._pasting = _PASTE.get(token[0], self._pasting)
                case "text":
                    self.typed += token[0]
                case "enter" if self._pasting or (self._ask is None and token.end() < len(text)):
                    self.typed += "\n"  # more text follows: an unmarked paste
                case "enter":
                    line, self.typed = self.typed, ""
                    self._put(LineEntered(text=line, ask=self._ask))
                    return  # text after an answer is not for the next question
                case _ if not self._pasting:  # a paste holds no keys
                    self._edit(token[0])
        self._on_change()

    def _edit(self, key: str) -> None:
        if key in _ERASE:
            self.typed = self.typed[:-1]
        elif key == _ERASE_WORD:
            self.typed = re.sub(r"\S*\s*\Z", "", self.typed)
        elif key == _ERASE_ALL:
            self.clear()
        elif key == _END and not self.typed:
            self._end_input()

    def _end_input(self) -> None:
        self.release()
        self._put(LineEntered(text=None, ask=self._ask))


def _control(sequence: str) -> None:
    sys.stdout.write(sequence)
    sys.stdout.flush()


class Interrupted(Value):
    """Ctrl-C, or SIGTERM of another process."""

    terminated: bool = False


class RedrawTick(Value):
    """No event waits: time to redraw the footer."""


UiEvent: TypeAlias = EventWithContents | PublishedDelta | LineEntered | Interrupted | TabPressed | RedrawTick


class TerminalInput:
    """Handles Ctrl-C from `__aenter__` on, and the keyboard from `listen` on."""

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
