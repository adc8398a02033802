"""Writes rows to standard output; on a terminal, with growing text and a footer."""

import shutil
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

import click

from worker.cli.render.console import Row, joined, open_console, styled
from worker.cli.render.wrap import clip, display_width, wrap_text

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

AGAIN_NOTE: Final = "(That answer was interrupted and does not count; it begins again.)"
_LEAST_MARGIN: Final = 8  # columns
OVER_NOTE: Final = "(That answer was interrupted and does not count.)"
_INCOMPLETE_NOTE: Final = "(Pieces of that answer were lost on the way; here is all of it.)"


class TerminalWriter:
    """Standard output. `live`: a terminal, where unfinished text is shown and can be taken back.

    Below the rows that stay is the foot: the last block of a growing answer, and the footer.
    """

    def __init__(self, *, live: bool) -> None:
        self.live = live
        self._grown = ""
        self._done = 0  # characters of it in blocks that were written and stay
        self._has_rows = False  # written for these blocks
        self._stale = False  # grown since it was drawn
        self._tail: list[Row] = []  # the rows of the last block, which may change
        self._footer: tuple[Row, ...] = ()
        self._foot: list[Text] = []  # as drawn

    @property
    def columns(self) -> int | None:
        """The width of rows; None: no wrapping."""
        return shutil.get_terminal_size().columns if self.live else None

    @property
    def height(self) -> int | None:
        return shutil.get_terminal_size().lines if self.live else None

    def write_line(self, row: Row = "") -> None:
        if self.live:
            self._draw([row])
        else:
            click.echo(str(row))

    def stream(self, text: str) -> None:
        """Append to the unfinished text; `draw` shows it, `finalize` or `retract` ends it."""
        if self.live:
            self._grown += text
            self._stale = self._stale or bool(text)

    def finalize(self, whole: str) -> None:
        """Complete the unfinished text, or replace it if `whole` differs."""
        if not self.live:
            if whole:
                click.echo(whole.removesuffix("\n"))
            return
        if not whole.startswith(self._grown[: self._done]):
            self.retract(_INCOMPLETE_NOTE)
        self._grown = whole
        rows = self._finished_blocks(last=True)
        self._begin()
        self._draw(rows)

    def retract(self, note: str = AGAIN_NOTE) -> None:
        """Remove the last block; a note says that what was written of the answer before does not count."""
        void = self._has_rows
        self._begin()
        if void:
            self._draw([styled(each, "dim") for each in wrap_text(note, self.columns)])
        elif self.live:
            self._draw()

    def set_footer(self, *rows: Row) -> None:
        """Replace the lowest rows. Without rows, leave the cursor there."""
        self._footer = rows
        self.draw()

    def draw(self) -> None:
        """Complete blocks stay, the last may change."""
        if self.live:
            self._draw(self._finished_blocks() if self._stale else ())

    def _begin(self) -> None:
        self._grown, self._done, self._tail = "", 0, []
        self._has_rows = self._stale = False

    def _finished_blocks(self, *, last: bool = False) -> list[Row]:
        """The rows of blocks that will not change."""
        from worker.cli.render.markdown import render_markdown, split_blocks  # start-up time: rich

        self._stale = False
        rows: list[Row] = []
        blocks = split_blocks(self._grown[self._done :]) if self._grown[self._done :] else []
        for number, block in enumerate(blocks, start=1):
            shown = render_markdown(block, self.columns or 0)
            shown = ["", *shown] if shown and (rows or self._has_rows) else shown
            if number == len(blocks) and not last:
                self._tail = shown
            else:
                rows += shown
                self._done += len(block) + 1
        self._has_rows = self._has_rows or bool(rows)
        return rows

    def _draw(self, rows: Sequence[Row] = ()) -> None:
        """Write the rows above the foot, and the foot if it has changed."""
        from rich.console import Group  # start-up time

        screen = shutil.get_terminal_size()
        tail = self._tail[-max(screen.lines - 2 - len(self._footer), 1) :]
        foot = [clip(row, screen.columns) for row in tail]
        foot += [clip(row, screen.columns - 1) for row in self._footer]
        if not rows and foot == self._foot:
            return
        self._foot = foot
        with self._display.console as console:  # at once
            self._display.update(Group(*foot), refresh=True)
            if rows:
                console.print(Group(*rows), soft_wrap=True)

    @cached_property
    def _display(self) -> "Live":
        """Where the foot is drawn. It never ends: an empty one leaves the cursor where the shell expects it."""
        from rich.live import Live  # start-up time

        console = open_console()
        display = Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
        display.start()
        console.show_cursor(True)  # behind what is typed
        return display


class MarginWriter(TerminalWriter):
    """Writes whole rows behind a margin: a subagent's name, a time. A long one is cut: rows need the most room."""

    def __init__(self, writer: TerminalWriter, margin: str) -> None:
        super().__init__(live=False)
        self.margin = margin
        self._writer = writer

    @property
    def columns(self) -> int | None:
        room = self._writer.columns
        return None if room is None else room - display_width(self._cut_margin) - 3

    @property
    def _cut_margin(self) -> str:
        room = self._writer.columns
        return self.margin if room is None else str(clip(self.margin, max(room // 3, _LEAST_MARGIN)))

    def write_line(self, row: Row = "") -> None:
        self._writer.write_line(joined(styled(f"{self._cut_margin} │", "dim"), " ", row))

    def finalize(self, whole: str) -> None:
        for row in wrap_text(whole.rstrip("\n"), self.columns) if whole else []:
            self.write_line(row)
