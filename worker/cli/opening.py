"""The first prompt of a session, typed where its story will be told."""

import asyncio
import errno
import signal
from pathlib import Path
from typing import Final

import click

from worker.cli.keyboard import Keyboard
from worker.cli.look.page import Page
from worker.cli.look.screen import PROMPT
from worker.cli.look.text import exact, prose
from worker.cli.look.wrap import ending, flowed
from worker.cli.slash import HELP, Slash, command
from workflows.domain.errors import HoldfastError
from workflows.domain.ids import AskId

_LOOK: Final = 0.2  # seconds between two looks at how wide the terminal is
_NOTHING: Final = {Slash.STOP: "Nothing is at work.", Slash.RETRY: "Nothing has failed yet."}


async def first_prompt(model: str, directory: Path, *, live: bool) -> str | None:
    """What the agent is to do in this directory; None for a person who leaves instead.

    Raises Abort at Ctrl-C, and OSError when the terminal is closed.
    """
    opening = Opening(Page(live=live))
    opening.say(f"{exact(model)} in {exact(str(directory))}. Type a prompt; Ctrl-D leaves.")
    return await opening.prompt()


class Opening:
    """Reads prompts before there is a session to follow."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._lines: asyncio.Queue[str | None | Exception] = asyncio.Queue()
        self._keyboard = Keyboard(self._entered, self._draw, self._closed, alive=page.live)

    def say(self, text: str) -> None:
        room = self._page.columns
        self._page.line(click.style(text if room is None else flowed(text, room), dim=True))

    async def prompt(self) -> str | None:
        """The first line that is a prompt; None at the end of the input, or for one who leaves."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupted)
        loop.add_signal_handler(signal.SIGCONT, self._keyboard.resume)
        self._keyboard.listen()
        try:
            while True:
                text = await self._line()
                if text is None or (text.strip() and self._is_prompt(text)):
                    return text
                if text.strip() in (Slash.EXIT, "/quit"):
                    return None
        finally:
            self._keyboard.rest()
            self._page.close()
            loop.remove_signal_handler(signal.SIGINT)
            loop.remove_signal_handler(signal.SIGCONT)

    def _is_prompt(self, text: str) -> bool:
        """Whether it is one; a command that needs a session is answered."""
        try:
            match command(text):
                case None:
                    return True
                case Slash.HELP:
                    self.say("\n".join(HELP))
                case found if found in _NOTHING:
                    self.say(_NOTHING[found])
        except HoldfastError as error:
            self.say(prose(str(error)))
        return False

    async def _line(self) -> str | None:
        while True:
            self._draw()
            try:
                async with asyncio.timeout(_LOOK):
                    found = await self._lines.get()
            except TimeoutError:
                continue
            if isinstance(found, Exception):
                raise found
            return found

    def _draw(self) -> None:
        room = (self._page.columns or 0) - len(PROMPT) - 1
        self._page.passing(f"{PROMPT}{ending(self._keyboard.typed, room)}")

    def _entered(self, text: str | None, _: AskId | None) -> None:
        self._lines.put_nowait(text)

    def _closed(self) -> None:
        self._lines.put_nowait(OSError(errno.EIO, "The terminal was closed"))

    def _interrupted(self) -> None:
        if self._keyboard.typed:
            self._keyboard.clear()
            self._draw()
        else:
            self._lines.put_nowait(click.Abort())
