"""The five fields of cron."""

import re
from reprlib import repr as cut_repr
from typing import Final, NamedTuple

from workflows.domain.errors import UsageError
from workflows.domain.schedules.recurrence import Calendar


class _Field(NamedTuple):
    name: str
    first: int
    last: int
    names: tuple[str, ...] = ()  # of the numbers from `first` on


_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: Final = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("weekday", 0, 7, _WEEKDAYS),
)
_NUMBER: Final = re.compile(r"\d{1,4}", re.ASCII)


def parse_cron(text: str) -> Calendar:
    """Raises UsageError, also where cron would take the day of the month *or* the weekday: that is rarely meant."""
    written = text.split()
    minutes, hours, days, months, weekdays = (
        _values(field, words) for field, words in zip(_FIELDS, written, strict=True)
    )
    if written[2] != "*" and written[4] != "*":
        raise UsageError(
            f"{cut_repr(text)} names a day of the month and a weekday: cron would take either. Make two schedules, or "
            "have one of the two be *."
        )
    return Calendar(
        minutes=minutes, hours=hours, days=days, months=months, weekdays=tuple(sorted({each % 7 for each in weekdays}))
    )


def _values(field: _Field, text: str) -> tuple[int, ...]:
    return tuple(sorted({number for each in text.split(",") for number in _range(field, each)}))


def _range(field: _Field, text: str) -> range:
    """The values of `*`, `5` or `1-5`, each perhaps with `/2` after it."""
    base, slash, step = text.partition("/")
    if base == "*":
        first, last = field.first, field.last
    else:
        begin, dash, end = base.partition("-")
        first = _number(field, begin, text)
        last = _number(field, end, text) if dash else field.last if slash else first
    if last < first or (slash and (not _NUMBER.fullmatch(step) or int(step) == 0)):
        raise _error(field, text)
    return range(first, last + 1, int(step) if slash else 1)


def _number(field: _Field, text: str, within: str) -> int:
    if text in field.names:
        return field.first + field.names.index(text)
    if not _NUMBER.fullmatch(text) or not field.first <= int(text) <= field.last:
        raise _error(field, within)
    return int(text)


def _error(field: _Field, text: str) -> UsageError:
    known = f" or {field.names[0]} to {field.names[-1]}" if field.names else ""
    return UsageError(
        f"{cut_repr(text)} is no {field.name} of cron: {field.first} to {field.last}{known}, as in *, 5, 1-5, "
        "1,15 or */2."
    )
