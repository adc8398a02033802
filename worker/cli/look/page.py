"""Page: where a story is written. Lines stay; on a terminal there is text that grows, and a line that passes."""

import shutil
import sys

import click

from worker.cli.look.text import width

_ERASE_LINE = "\r\x1b[K"
_ERASE_BELOW = "\r\x1b[J"
_VOID = "(That answer was interrupted and does not count; it begins again.)"


class Page:
    """Standard output. `live` says that it is a terminal, where what is not final may be shown and taken back."""

    def __init__(self, *, live: bool) -> None:
        self.live = live
        self._passing = False
        self._begin()

    def line(self, text: str = "") -> None:
        """Write a line that stays."""
        self._close()
        self._fixed = bool(self._grown)
        click.echo(text)

    def grow(self, text: str) -> None:
        """Show more of a text that is not final; `settle` or `retract` ends it."""
        if self.live and text:
            self._drop_passing()
            self._fixed = self._fixed or self._closed
            self._grown += text
            click.echo(text, nl=False)

    def settle(self, whole: str) -> None:
        """What has grown is final, and reads so: it is completed, or taken back and written anew."""
        if not whole.startswith(self._grown):
            self.retract()
        self._drop_passing()
        rest = whole[len(self._grown) :]
        if rest:
            click.echo(rest, nl=not rest.endswith("\n"))
        else:
            self._close()
        self._begin()

    def retract(self) -> None:
        """Take back what has grown; where that is not possible any more, a note says that it is void."""
        self._drop_passing()
        rows = _rows(self._grown) + self._closed
        if not self._grown:
            return
        if not self._fixed and rows <= shutil.get_terminal_size().lines:
            sys.stdout.write((f"\x1b[{rows - 1}A" if rows > 1 else "") + _ERASE_BELOW)
        else:
            self._close()
            click.echo(click.style(_VOID, dim=True))
        self._begin()

    def passing(self, text: str) -> None:
        """Show a line that the next one replaces: what goes on just now, or a question."""
        if self.live:
            self._close()
            sys.stdout.write(_fitted(text))
            sys.stdout.flush()
            self._passing = True

    def entered(self) -> None:
        """A person has typed a line behind the passing one, so the cursor stands below it."""
        self._passing = False

    def _begin(self) -> None:
        self._grown = ""
        self._closed = False  # a line break that the text does not hold was written behind it
        self._fixed = False  # something that stays was written behind it

    def _close(self) -> None:
        """Let the cursor stand on a line of its own."""
        self._drop_passing()
        if self._grown and not self._closed and not self._grown.endswith("\n"):
            self._closed = True
            click.echo()

    def _drop_passing(self) -> None:
        if self._passing:
            sys.stdout.write(_ERASE_LINE)
            self._passing = False


def _fitted(text: str) -> str:
    columns = shutil.get_terminal_size().columns - 1
    while width(text) > columns:
        text = text[: min(columns, len(text) - 1)]
    return text


def _rows(text: str) -> int:
    columns = shutil.get_terminal_size().columns
    return sum(max(1, -(-width(line.expandtabs()) // columns)) for line in text.split("\n"))
