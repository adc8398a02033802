"""The keyboard of a person who follows a session: what is being typed is kept, so that it can be shown again below new
lines."""

import asyncio
import codecs
import os
import re
import select
import sys
import termios
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from workflows.domain.ids import AskId

_TOKENS: Final = re.compile(
    r"(?P<sequence>\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O.|[^\x1b])?)"  # arrows and the like mean nothing here; pastes do
    r"|(?P<enter>\r\n?|\n)"
    r"|(?P<control>[\x00-\x08\x0b-\x1f\x7f-\x9f])"
    r"|(?P<text>[^\x00-\x08\x0a-\x1f\x7f-\x9f]+)"
)
_CUT: Final = re.compile(r"\x1b(?:\[[0-9;?]*)?\Z")  # a sequence that goes on in what is read next
_PASTE: Final = {"\x1b[200~": True, "\x1b[201~": False}  # a terminal's marks around what is pasted
_MARK_PASTES: Final = "\x1b[?2004h"
_MARK_NO_PASTES: Final = "\x1b[?2004l"
_ERASE: Final = "\x7f\b"
_ERASE_WORD: Final = "\x17"
_ERASE_ALL: Final = "\x15"
_END: Final = "\x04"


class Keyboard:
    """A terminal that gives every key as it comes, and shows none by itself; one that is not `alive`, where nothing can
    be shown again, gives and shows lines as terminals do.

    `entered` is called with each line, and with the ask that was shown when it was entered; with None at the end of the
    input. `touched` is called when `typed` has changed; `closed` when a live terminal is gone, for SIGHUP does not
    reach every process.
    """

    def __init__(
        self,
        entered: Callable[[str | None, AskId | None], None],
        touched: Callable[[], None],
        closed: Callable[[], None],
        *,
        alive: bool,
    ) -> None:
        self._alive = alive
        self.typed = ""
        self.draft = ""  # a prompt that was half typed when an ask was shown
        self._ask: AskId | None = None
        self._entered = entered
        self._touched = touched
        self._closed = closed
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._cut = ""
        self._pasting = False
        self._before: list[int | list[bytes | int]] | None = None

    @property
    def open(self) -> bool:
        return self._before is not None

    def listen(self) -> None:
        """Take keys from now on. What was typed ahead stands in the line: it was not shown, so it is not sent yet."""
        if self.open:
            return
        self._before = termios.tcgetattr(sys.stdin)
        self.resume()
        if not self._alive:
            termios.tcflush(sys.stdin, termios.TCIFLUSH)
        elif select.select([sys.stdin], [], [], 0)[0]:
            self._pasting = True
            self._read()
            self._pasting = False
            self.typed = self.typed.strip()

    def answers(self, ask: AskId) -> None:
        """What is typed from now on answers this ask; what was typed before it was shown does not."""
        self.listen()
        if self._ask is None:
            self.draft = self.typed
        self._ask = ask
        self.clear()
        termios.tcflush(sys.stdin, termios.TCIFLUSH)

    def prompts(self) -> None:
        """What is typed from now on is a prompt, and begins with what was typed of it before an ask was shown."""
        if self._ask is not None:
            self.clear()
            self._ask, self.typed, self.draft = None, self.draft, ""

    def clear(self) -> None:
        """Drop what was typed and not entered."""
        self.typed, self._cut, self._pasting = "", "", False
        self._decoder.reset()

    def resume(self) -> None:
        """Have the terminal hand over single keys again, and echo none; Ctrl-C stays a signal, and throws away nothing
        that was written and is not read yet."""
        if not self.open:
            return
        asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._read)
        if self._alive:
            mode = termios.tcgetattr(sys.stdin)
            mode[3] = mode[3] & ~(termios.ICANON | termios.ECHO) | termios.NOFLSH
            termios.tcsetattr(sys.stdin, termios.TCSANOW, mode)
            _control(_MARK_PASTES)

    def leave(self) -> None:
        """The terminal is another's now, who must not be read from, nor its modes be set."""
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())

    def rest(self) -> None:
        """Take no more keys; the terminal is as it was."""
        if self._before is None:
            return
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
        with suppress(termios.error, OSError):  # the terminal was closed
            termios.tcsetattr(sys.stdin, termios.TCSANOW, self._before)
            if self._alive:
                _control(_MARK_NO_PASTES)
        self._before = None

    def _read(self) -> None:
        try:
            read = os.read(sys.stdin.fileno(), 65536)
        except OSError:  # the terminal was closed
            read = b""
        if read:
            self._take(self._whole(self._cut + self._decoder.decode(read)))
        elif self._alive:  # where Ctrl-D is a key like others
            self.rest()
            self._closed()
        else:
            self._over()

    def _whole(self, text: str) -> str:
        """`text` without a sequence at its end that is not complete. A lone escape is a key, but for within a paste,
        where it may begin the mark of its end."""
        found = _CUT.search(text)
        self._cut = found[0] if found is not None and (self._pasting or len(found[0]) > 1) else ""
        return text.removesuffix(self._cut)

    def _take(self, text: str) -> None:
        for token in _TOKENS.finditer(text):
            match token.lastgroup:
                case "sequence":
                    self._pasting = _PASTE.get(token[0], self._pasting)
                case "text":
                    self.typed += token[0]
                case "enter" if self._pasting or (self._ask is None and token.end() < len(text)):
                    self.typed += "\n"  # more came at once behind it: pasted, where the terminal does not say so
                case "enter":
                    line, self.typed = self.typed, ""
                    self._entered(line, self._ask)
                    return  # what came at once behind an answer could not be meant for what comes next
                case _ if not self._pasting:  # a paste holds no keys
                    self._edit(token[0])
        self._touched()

    def _edit(self, key: str) -> None:
        if key in _ERASE:
            self.typed = self.typed[:-1]
        elif key == _ERASE_WORD:
            self.typed = re.sub(r"\S*\s*\Z", "", self.typed)
        elif key == _ERASE_ALL:
            self.clear()
        elif key == _END and not self.typed:
            self._over()

    def _over(self) -> None:
        self.rest()
        self._entered(None, self._ask)


def _control(sequence: str) -> None:
    sys.stdout.write(sequence)
    sys.stdout.flush()
