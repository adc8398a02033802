"""The keyboard of whoever is asked: what is being typed is kept, so that it can be shown again below new lines."""

import asyncio
import codecs
import os
import re
import sys
import termios
from collections.abc import Callable
from contextlib import suppress
from typing import Final

_SEQUENCE: Final = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O.|.)?")  # of arrows and the like, which mean nothing here
_ERASE: Final = "\x7f\b"
_ERASE_ALL: Final = "\x15"
_END: Final = "\x04"


class Keyboard:
    """A terminal that gives every key as it comes, and shows none by itself; one that is not `alive`, where nothing can
    be shown again, gives and shows lines as terminals do.

    `entered` is called with each line, with None at the end of the input; `touched` when `typed` has changed; `closed`
    when a live terminal is gone, of which not everybody hears by SIGHUP.
    """

    def __init__(
        self,
        entered: Callable[[str | None], None],
        touched: Callable[[], None],
        closed: Callable[[], None],
        *,
        alive: bool,
    ) -> None:
        self._alive = alive
        self.typed = ""
        self._entered = entered
        self._touched = touched
        self._closed = closed
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._before: list[int | list[bytes | int]] | None = None

    @property
    def open(self) -> bool:
        return self._before is not None

    def listen(self) -> None:
        """Take keys from now on; what was typed before could not be meant, and is dropped."""
        if not self.open:
            self._before = termios.tcgetattr(sys.stdin)
            self.resume()
        self.forget()

    def forget(self) -> None:
        """Drop what was typed and not entered: it was meant for something else."""
        self.typed = ""
        self._decoder.reset()
        termios.tcflush(sys.stdin, termios.TCIFLUSH)

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

    def leave(self) -> None:
        """The terminal is another's now, who must not be read from, nor its modes be set."""
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())

    def rest(self) -> None:
        """Take no more keys; the terminal is as it was."""
        if self._before is not None:
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            with suppress(termios.error):  # the terminal was closed
                termios.tcsetattr(sys.stdin, termios.TCSANOW, self._before)
            self._before = None

    def _read(self) -> None:
        try:
            read = os.read(sys.stdin.fileno(), 65536)
        except OSError:  # the terminal was closed
            read = b""
        if read:
            self._take(_SEQUENCE.sub("", self._decoder.decode(read)))
        elif self._alive:  # where Ctrl-D is a key like others
            self.rest()
            self._closed()
        else:
            self._over()

    def _take(self, text: str) -> None:
        for character in text:
            if character in "\r\n":
                line, self.typed = self.typed, ""
                self._entered(line)
                return  # what was pasted behind it could not be meant for what comes next
            if character == _END and not self.typed:
                self._over()
                return
            self._edit(character)
        self._touched()

    def _edit(self, character: str) -> None:
        if character in _ERASE:
            self.typed = self.typed[:-1]
        elif character == _ERASE_ALL:
            self.typed = ""
        elif character.isprintable():
            self.typed += character

    def _over(self) -> None:
        self.rest()
        self._entered(None)
