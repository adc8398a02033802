"""Writes lines to standard output; on a terminal, with growing text and a footer."""

import os
import shutil
import sys
from typing import Final

import click

from worker.cli.render.escaping import display_width
from worker.cli.render.wrap import clip, wrap_text

_ERASE_BELOW: Final = "\r\x1b[J"
_INTERRUPTED_NOTE: Final = "(That answer was interrupted and does not count; it begins again.)"


class TerminalWriter:
    """Standard output. `live`: a terminal, where unfinished text is shown and can be taken back.

    Below the lines that stay is the foot: the last block of a growing answer, and the footer.
    """

    def __init__(self, *, live: bool) -> None:
        self.live = live
        self._grown = ""
        self._done = 0  # characters of it in blocks that were written and stay
        self._written: list[str] = []  # the rows of those blocks
        self._fixed = False  # a line was written after them
        self._stale = False  # grown since it was drawn
        self._tail: list[str] = []  # the rows of the last block, which may change
        self._passing: tuple[str, ...] = ()
        self._foot: list[str] = []  # the tail and the footer, as drawn

    @property
    def columns(self) -> int | None:
        """The width of lines; None: no wrapping."""
        return shutil.get_terminal_size().columns if self.live else None

    def write_line(self, text: str = "") -> None:
        self._fixed = self._fixed or bool(self._written)
        self._write(text)

    def stream(self, text: str) -> None:
        """Append to the unfinished text; `draw` shows it, `finalize` or `retract` ends it."""
        if self.live:
            self._grown += text
            self._stale = self._stale or bool(text)

    def finalize(self, whole: str) -> None:
        """Complete the unfinished text, or replace it if `whole` differs."""
        if not self.live:
            if whole:
                self._write(whole.removesuffix("\n"))
            return
        if not whole.startswith(self._grown):
            self.retract()
        self._grown = whole
        self._finish(last=True)
        self._begin()
        self._draw([])

    def retract(self) -> None:
        """A note declares void what cannot be erased."""
        written, reaches = self._written, sum(map(self._height, self._written)) + sum(map(self._height, self._foot))
        fixed = self._fixed or reaches > shutil.get_terminal_size().lines
        self._begin()
        if written and fixed:
            self._write(click.style(_INTERRUPTED_NOTE, dim=True))
        elif self.live:
            self._draw([], over=written)

    def set_footer(self, *rows: str) -> None:
        """Replace the lowest lines. Without rows, leave the cursor there."""
        self._passing = rows
        self.draw()

    def draw(self) -> None:
        """Complete blocks stay, the last may change."""
        if not self.live:
            return
        if self._stale:
            self._stale = False
            self._finish(last=False)
        self._draw([])

    def _begin(self) -> None:
        self._grown, self._done = "", 0
        self._written, self._tail = [], []
        self._stale = self._fixed = False

    def _finish(self, *, last: bool) -> None:
        from worker.cli.render.markdown import render_markdown, split_blocks  # start-up time: rich

        blocks = split_blocks(self._grown[self._done :]) if self._grown[self._done :] else []
        written, self._tail = len(self._written), []
        for number, block in enumerate(blocks, start=1):
            rows = render_markdown(block, self.columns or 0)
            rows = ["", *rows] if rows and self._written else rows
            if number == len(blocks) and not last:
                self._tail = rows
            else:
                self._written += rows
                self._done += len(block) + 1
        if added := self._written[written:]:
            self._draw(added)

    def _write(self, line: str) -> None:
        if self.live:
            self._draw([line])
        else:
            click.echo(line)

    def _draw(self, lines: list[str], *, over: list[str] | None = None) -> None:
        """Erases the rows `over`."""
        screen = shutil.get_terminal_size()
        room = max(screen.lines - 2 - len(self._passing), 1)
        foot = [clip(row, screen.columns) for row in self._tail[-room:]]
        foot += [clip(row, screen.columns - 1) for row in self._passing]
        if not lines and not over and foot == self._foot:
            return
        same = len(os.path.commonprefix([foot, self._foot]))
        if not lines and not over and same < min(len(foot), len(self._foot)):
            self._put(self._up(self._foot[same:]), "\n".join(foot[same:]))
        else:
            self._put(self._up([*(over or []), *(self._foot or [""])]), "\n".join([*lines, *(foot or [""])]))
        self._foot = foot

    def _put(self, control: str, text: str) -> None:
        """click would strip the controls with the colours."""
        sys.stdout.write(control)
        click.echo(text, nl=False)

    def _up(self, rows: list[str]) -> str:
        """Move up to the first of these rows, and erase everything below."""
        height = sum(map(self._height, rows))
        return (f"\x1b[{height - 1}A" if height > 1 else "") + _ERASE_BELOW

    def _height(self, row: str) -> int:
        """A terminal that became narrower has wrapped the line."""
        return max(1, -(-display_width(click.unstyle(row)) // shutil.get_terminal_size().columns))


class MarginWriter(TerminalWriter):
    """Writes whole lines behind a margin: a subagent's name, a time."""

    def __init__(self, writer: TerminalWriter, margin: str) -> None:
        super().__init__(live=False)
        self.margin = margin
        self._writer = writer

    @property
    def columns(self) -> int | None:
        room = self._writer.columns
        return None if room is None else room - display_width(self.margin) - 3

    def write_line(self, text: str = "") -> None:
        self._writer.write_line(f"{click.style(f'{self.margin} │', dim=True)} {text}")

    def finalize(self, whole: str) -> None:
        for row in wrap_text(whole.rstrip("\n"), self.columns) if whole else []:
            self.write_line(row)
