"""Sessions as a table: on a terminal with a header and their titles first; in a pipe one row each, the id first."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

import click

from worker.cli.look.standing import state
from worker.cli.look.table import table
from worker.cli.look.text import age, exact, line, width
from worker.cli.look.wrap import folded, wrapped
from worker.client import Overview

_TITLE: Final = 60  # characters
_NARROWEST: Final = 12  # of what is cut on a narrow terminal
_GAP: Final = 2
_HEADER: Final = ("STATE", "CHANGED", "SESSION")


def rows(found: Sequence[Overview], now: datetime, room: int | None, *, here: bool = False) -> list[str]:
    """The rows; `room` are the columns of a terminal, `here` says that all are of the directory that is known."""
    stand = [(state(each, now), age(each.updated_at, now), each.id) for each in found]
    if room is None:
        pairs = zip(stand, found, strict=True)
        return table((id_, what, when, _title(each), _where(each)) for (what, when, id_), each in pairs)
    titles = [_title(each) for each in found]
    wheres = [] if here else [_where(each) for each in found]
    left = room - max(map(width, table([_HEADER, *stand]))) - _GAP * (1 if here else 2)
    if left < _NARROWEST * (1 if here else 2):
        return list(_stacked(stand, titles, wheres, room))
    longest = max(map(width, wheres), default=0)
    most = max(left - max(map(width, titles)), left // 3, _NARROWEST)  # for the directories
    titles = [_begun(title, left - min(longest, most)) for title in titles]
    header = ("TITLE", *_HEADER, *(() if here else ("DIRECTORY",)))
    ends = [()] * len(found) if here else [(_end(where, most),) for where in wheres]
    columns = [(title, *each, *end) for title, each, end in zip(titles, stand, ends, strict=True)]
    first, *others = table([header, *columns])
    return [click.style(first, dim=True), *others]


def _stacked(
    stand: Sequence[tuple[str, ...]], titles: Sequence[str], wheres: Sequence[str], room: int
) -> Iterator[str]:
    """Two or three rows for each session, where a terminal has no room for columns."""
    for title, below, where in zip(titles, table(stand), wheres or [""] * len(titles), strict=True):
        yield _begun(title, room)
        for each in filter(None, (below, where)):
            yield from folded(f"  {each}", room, 2)


def _title(seen: Overview) -> str:
    """A subagent's below that of its session."""
    branch = f"{'  ' * (seen.depth - 1)}└ " if seen.depth else ""
    return f"{branch}{line(seen.title, _TITLE)}"


def _where(seen: Overview) -> str:
    """The directory; a subagent works in that of its session."""
    return "" if seen.depth else exact(seen.directory)


def _begun(text: str, longest: int) -> str:
    return text if width(text) <= longest else f"{wrapped(text, longest - 1)[0]}…"


def _end(text: str, longest: int) -> str:
    if width(text) <= longest:
        return text
    while width(text) >= longest:
        text = text[1:]
    return f"…{text}"
