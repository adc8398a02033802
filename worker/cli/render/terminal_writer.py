"""Writes rows to standard output; on a terminal, with growing text and a footer."""

import shutil
import sys
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

import click

from worker.cli.render.console import Row, joined, styled, with_styles
from worker.cli.render.wrap import clip, display_width, wrap_text

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

AGAIN_NOTE: Final = "(That answer was interrupted and does not count; it begins again.)"
_LEAST_MARGIN: Final = 8  # columns
_TYPED_ROWS: Final = 8  # a long paste leaves the answer in sight
OVER_NOTE: Final = "(That answer was interrupted and does not count.)"
_INCOMPLETE_NOTE: Final = "(Pieces of that answer were lost on the way; here is all of it.)"


class TerminalWriter:
    """Standard output. `live`: a terminal, where unfinished text is shown and can be taken back.

    Below the rows that stay is the foot: the last block of a growing answer, the footer, and the line that is typed.
    """

    def __init__(self, *, live: bool) -> None:
        self.live = live
        self._grown = ""
        self._done = 0  # characters of it in blocks that were written and stay
        self._has_rows = False  # written for these blocks
        self._stale = False  # grown since it was drawn
        self._tail: list[Row] = []  # the rows of the last block, which may change
        self._footer: tuple[Row, ...] = ()
        self._prompt = ""  # before what is typed
        self._foot = ""  # as drawn, with the prompt

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

    def set_footer(self, *rows: Row, prompt: str = "") -> None:
        """Replace the lowest rows, and what stands before the typed line. Without any, leave the cursor there."""
        self._footer, self._prompt = rows, prompt
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
        from prompt_toolkit.application.current import set_app  # start-up time

        screen = shutil.get_terminal_size()
        typed = min(self.session.default_buffer.document.line_count, _TYPED_ROWS)
        tail = self._tail[-max(screen.lines - 1 - typed - len(self._footer), 1) :]
        shown = with_styles([clip(row, screen.columns - 1) for row in (*tail, *self._footer)]) + self._prompt
        if not rows and shown == self._foot:
            return
        shrinks = shown.count("\n") < self._foot.count("\n")
        self._foot = shown
        app = self.session.app
        if rows or shrinks or not shown:
            app.renderer.erase()
            app.output.write_raw(with_styles(rows))
            app.output.flush()
        if app.is_running:
            app.invalidate()  # once for many rows
        elif shown:
            app.render_counter += 1  # else texts come from a cache
            with set_app(app):
                app.renderer.render(app, app.layout)

    @cached_property
    def session(self) -> "PromptSession[None]":
        """Draws the foot; when its `app` runs, what is typed is edited."""
        from prompt_toolkit import ANSI, PromptSession  # start-up time
        from prompt_toolkit.data_structures import Size
        from prompt_toolkit.input import create_input
        from prompt_toolkit.layout import Dimension
        from prompt_toolkit.layout.processors import TabsProcessor
        from prompt_toolkit.output.vt100 import Vt100_Output

        def size() -> Size:
            screen = shutil.get_terminal_size()
            return Size(rows=screen.lines, columns=screen.columns)

        session: PromptSession[None] = PromptSession(
            lambda: ANSI(self._foot),
            multiline=True,
            erase_when_done=True,
            enable_suspend=True,
            input_processors=[TabsProcessor(char1=" ", char2=" ")],
            input=create_input(always_prefer_tty=True),
            output=Vt100_Output(sys.stdout, size, enable_bell=False, enable_cpr=False),
        )
        session.layout.current_window.height = Dimension(max=_TYPED_ROWS)
        return session


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
