"""Sessions as a table; in a pipe without a header, ids first."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from worker.api.sessions import Overview
from worker.cli.render.console import Row, styled
from worker.cli.render.escaping import escape_exact, one_line
from worker.cli.render.formatting import format_age
from worker.cli.render.session_status import status_label
from worker.cli.render.text_table import format_table
from worker.cli.render.wrap import clip_start, display_width, wrap_chars, wrap_text

_TITLE: Final = 60  # characters
_NARROWEST: Final = 12  # columns of a cut title or directory
_GAP: Final = 2
_HEADER: Final = ("STATE", "CHANGED", "SESSION")


def render_session_table(
    found: Sequence[Overview], now: datetime, max_columns: int | None, *, same_directory: bool = False
) -> list[Row]:
    """The rows for a terminal of `max_columns`, None for a pipe. `same_directory`: leave the directory out."""
    stand = [(status_label(each, now), format_age(each.updated_at, now), each.id) for each in found]
    if max_columns is None:
        pairs = zip(stand, found, strict=True)
        return format_table((id_, what, when, _title(each), _where(each)) for (what, when, id_), each in pairs)
    titles = [_title(each) for each in found]
    wheres = [] if same_directory else [_where(each) for each in found]
    left = max_columns - max(map(display_width, format_table([_HEADER, *stand]))) - _GAP * (1 if same_directory else 2)
    if left < _NARROWEST * (1 if same_directory else 2):
        return list(_stacked(stand, titles, wheres, max_columns))
    longest = max(map(display_width, wheres), default=0)
    most = max(left - max(map(display_width, titles)), left // 3, _NARROWEST)  # for the directories
    titles = [_truncate_end(title, left - min(longest, most)) for title in titles]
    header = ("TITLE", *_HEADER, *(() if same_directory else ("DIRECTORY",)))
    ends = [()] * len(found) if same_directory else [(clip_start(where, most),) for where in wheres]
    columns = [(title, *each, *end) for title, each, end in zip(titles, stand, ends, strict=True)]
    first, *others = format_table([header, *columns])
    return [styled(str(first), "dim"), *others]


def _stacked(
    stand: Sequence[tuple[str, ...]], titles: Sequence[str], wheres: Sequence[str], max_columns: int
) -> Iterator[Row]:
    for title, below, where in zip(titles, format_table(stand), wheres or [""] * len(titles), strict=True):
        yield _truncate_end(title, max_columns)
        for each in filter(None, (str(below), where)):
            yield from wrap_text(f"  {each}", max_columns, 2)


def _title(overview: Overview) -> str:
    branch = f"{'  ' * (overview.depth - 1)}└ " if overview.depth else ""
    scheduled = " (scheduled)" if overview.schedule is not None else ""
    return f"{branch}{one_line(overview.title, _TITLE)}{scheduled}"


def _where(overview: Overview) -> str:
    """The session's directory; empty for a subagent, which works in its parent's."""
    return "" if overview.depth else escape_exact(overview.directory)


def _truncate_end(text: str, longest: int) -> str:
    return text if display_width(text) <= longest else f"{wrap_chars(text, longest - 1)[0]}…"
