"""Page: where a story is written. Lines stay; on a terminal there is text that grows, and a line that passes."""

import os
import shutil
import sys
from typing import Final

import click

from worker.cli.look.text import width
from worker.cli.look.wrap import clipped, flowed

_ERASE_BELOW: Final = "\r\x1b[J"
_VOID: Final = "(That answer was interrupted and does not count; it begins again.)"


def columns() -> int | None:
    """How many columns standard output has; None when it is no terminal, so that nothing is fitted to it."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def fitted(text: str, indent: int = 0) -> str:
    """Sentences of ours as standard output has room for them; rows that one goes on in are `indent` blanks further."""
    room = columns()
    return text if room is None else flowed(text, room, indent)


class Page:
    """Standard output. `live` says that it is a terminal, where what is not final may be shown and taken back.

    Below the lines that stay there is a foot: the block of an answer that still grows, and the passing lines. It is
    drawn anew when it changes; `draw` shows what has grown since.
    """

    def __init__(self, *, live: bool) -> None:
        self.live = live
        self._grown = ""
        self._done = 0  # characters of it that were written as blocks that stay
        self._written: list[str] = []  # those blocks, in rows
        self._fixed = False  # something that stays was written behind them
        self._stale = False  # it has grown since it was drawn
        self._tail: list[str] = []  # the rows of the block that may change
        self._passing: tuple[str, ...] = ()
        self._foot: list[str] = []  # the tail and the passing lines, as they were drawn

    @property
    def columns(self) -> int | None:
        """How wide lines may be; None when nobody sees them as rows."""
        return shutil.get_terminal_size().columns if self.live else None

    def line(self, text: str = "") -> None:
        """Write a line that stays."""
        self._fixed = self._fixed or bool(self._written)
        self._write([text])

    def grow(self, text: str) -> None:
        """Have more of a text that is not final; `draw` shows it, `settle` or `retract` ends it."""
        if self.live:
            self._grown += text
            self._stale = self._stale or bool(text)

    def settle(self, whole: str) -> None:
        """What has grown is final, and reads so: it is completed, or taken back and written anew."""
        if not self.live:
            self._write([whole.removesuffix("\n")] if whole else [])
            return
        if not whole.startswith(self._grown):
            self.retract()
        self._grown = whole
        self._finish(len(_blocks(self._rest)))
        self._begin()
        self._draw([])

    def retract(self) -> None:
        """Take back what has grown; where that is not possible any more, a note says that it is void."""
        written, reaches = self._written, sum(map(self._height, self._written)) + sum(map(self._height, self._foot))
        fixed = self._fixed or reaches > shutil.get_terminal_size().lines
        self._begin()
        if written and fixed:
            self._write([click.style(_VOID, dim=True)])
        elif self.live:
            self._draw([], over=written)

    def passing(self, *rows: str) -> None:
        """Show lines below all others that the next ones replace: what goes on just now, a question, what is typed."""
        self._passing = rows
        self.draw()

    def draw(self) -> None:
        """Show what has grown, as far as it is not shown: whole blocks stay, the last one may still change."""
        if not self.live:
            return
        if self._stale:
            self._stale = False
            self._finish(len(_blocks(self._rest)) - 1)
        self._draw([])

    def close(self) -> None:
        """Leave the page: nothing passes any more, and the cursor stands below the last line."""
        self._passing = ()
        self.draw()

    @property
    def _rest(self) -> str:
        """What has grown behind the blocks that were written."""
        return self._grown[self._done :]

    def _begin(self) -> None:
        """Forget the text that has grown: it is final, or void."""
        self._grown, self._done = "", 0
        self._written, self._tail = [], []
        self._stale = self._fixed = False

    def _finish(self, count: int) -> None:
        """Write so many more blocks for good; what is left of the text is the foot."""
        blocks = _blocks(self._rest)
        shown = self._rows(blocks[:count], below=bool(self._written))
        self._done += sum(len(block) + 1 for block in blocks[:count])
        self._tail = self._rows(blocks[count:], below=bool(self._written or shown))
        if shown:
            self._written += shown
            self._draw(shown)

    def _rows(self, blocks: list[str], *, below: bool) -> list[str]:
        """The rows of these blocks, a blank one between two of them, and before the first if it stands below others."""
        from worker.cli.look.markdown import rows  # rich, which commands that show no answer never load

        shown: list[str] = []
        for block in blocks:
            begun = below or bool(shown)
            more = rows(block, self.columns or 0)
            shown += ["", *more] if begun and more else more
        return shown

    def _write(self, lines: list[str]) -> None:
        if self.live:
            self._draw(lines)
        else:
            for each in lines:
                click.echo(each)

    def _draw(self, lines: list[str], *, over: list[str] | None = None) -> None:
        """Write lines that stay, and the foot below them; `over` are rows before it that vanish."""
        screen = shutil.get_terminal_size()
        room = max(screen.lines - 2 - len(self._passing), 1)
        foot = [clipped(row, screen.columns) for row in self._tail[-room:]]
        foot += [clipped(row, screen.columns - 1) for row in self._passing]
        if not lines and not over and foot == self._foot:
            return
        same = len(os.path.commonprefix([foot, self._foot]))
        if not lines and not over and same < min(len(foot), len(self._foot)):
            self._put(self._up(self._foot[same:]), "\n".join(foot[same:]))
        else:
            self._put(self._up([*(over or []), *(self._foot or [""])]), "\n".join([*lines, *(foot or [""])]))
        self._foot = foot

    def _put(self, control: str, text: str) -> None:
        """In one piece; controls go past click, which takes them out together with colours."""
        sys.stdout.write(control)
        click.echo(text, nl=False)

    def _up(self, rows: list[str]) -> str:
        """To the beginning of these rows, as the terminal shows them now, and everything below erased."""
        height = sum(map(self._height, rows))
        return (f"\x1b[{height - 1}A" if height > 1 else "") + _ERASE_BELOW

    def _height(self, row: str) -> int:
        """Rows that a line takes: a terminal that became narrower has wrapped it."""
        return max(1, -(-width(click.unstyle(row)) // shutil.get_terminal_size().columns))


def _blocks(text: str) -> list[str]:
    from worker.cli.look.markdown import blocks  # as above

    return blocks(text) if text else []
