"""The first prompt of a session, typed on the terminal."""

import asyncio
import errno
import signal
from pathlib import Path
from typing import Final

import click

from worker.cli.keyboard import Keyboard
from worker.cli.render.formatting import escape_exact, escape_prose
from worker.cli.render.terminal import prompt_row
from worker.cli.render.terminal_writer import TerminalWriter
from worker.cli.render.wrap import wrap_words
from worker.cli.slash_commands import SLASH_HELP, SlashCommand, parse_slash_command
from workflows.domain.errors import HoldfastError
from workflows.domain.ids import AskId

_REDRAW_INTERVAL: Final = 0.2  # seconds: the terminal may have been resized
_NOTHING: Final = {SlashCommand.STOP: "Nothing is at work.", SlashCommand.RETRY: "Nothing has failed yet."}


async def read_first_prompt(model: str, directory: Path, *, live: bool) -> str | None:
    """Ask for a prompt; None if the person leaves.

    Raises Abort at Ctrl-C, OSError when the terminal is closed.
    """
    reader = FirstPromptReader(TerminalWriter(live=live))
    reader.print_note(f"{escape_exact(model)} in {escape_exact(str(directory))}. Type a prompt; Ctrl-D leaves.")
    return await reader.prompt()


class FirstPromptReader:
    """Reads a prompt before there is a session."""

    def __init__(self, writer: TerminalWriter) -> None:
        self._writer = writer
        self._lines: asyncio.Queue[str | None | Exception] = asyncio.Queue()
        self._keyboard = Keyboard(self._on_line, self._draw, self._on_close, live=writer.live)

    def print_note(self, text: str) -> None:
        self._writer.write_line(click.style(wrap_words(text, self._writer.columns), dim=True))

    async def prompt(self) -> str | None:
        """The first prompt; None at the end of the input or at /exit."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._on_interrupt)
        loop.add_signal_handler(signal.SIGCONT, self._keyboard.resume)
        self._keyboard.listen()
        try:
            while True:
                text = await self._next_line()
                if text is None or (text.strip() and self._is_prompt(text)):
                    return text
                if text.strip() in (SlashCommand.EXIT, "/quit"):
                    return None
        finally:
            self._keyboard.release()
            self._writer.close()
            loop.remove_signal_handler(signal.SIGINT)
            loop.remove_signal_handler(signal.SIGCONT)

    def _is_prompt(self, text: str) -> bool:
        """Answer slash commands; true for a prompt."""
        try:
            match parse_slash_command(text):
                case None:
                    return True
                case SlashCommand.HELP:
                    self.print_note("\n".join(SLASH_HELP))
                case found if found in _NOTHING:
                    self.print_note(_NOTHING[found])
        except HoldfastError as error:
            self.print_note(escape_prose(str(error)))
        return False

    async def _next_line(self) -> str | None:
        while True:
            self._draw()
            try:
                async with asyncio.timeout(_REDRAW_INTERVAL):
                    found = await self._lines.get()
            except TimeoutError:
                continue
            if isinstance(found, Exception):
                raise found
            return found

    def _draw(self) -> None:
        self._writer.set_footer(prompt_row(self._keyboard.typed, self._writer.columns or 0))

    def _on_line(self, text: str | None, _: AskId | None) -> None:
        self._lines.put_nowait(text)

    def _on_close(self) -> None:
        self._lines.put_nowait(OSError(errno.EIO, "The terminal was closed"))

    def _on_interrupt(self) -> None:
        if self._keyboard.typed:
            self._keyboard.clear()
            self._draw()
        else:
            self._lines.put_nowait(click.Abort())
