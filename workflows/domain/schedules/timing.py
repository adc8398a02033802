"""What a person types for the times of a schedule: `--every` and `--at`."""

import re
from datetime import UTC, datetime, tzinfo
from reprlib import repr as cut_repr
from typing import Final

from workflows.domain.errors import UsageError
from workflows.domain.schedules.cron import parse_cron
from workflows.domain.schedules.recurrence import ALL_WEEKDAYS, Calendar, Interval, Recurrence, next_after

_EVERY_FORMS: Final = (
    'hourly, 15m, 2h, "daily 02:00", "weekdays 7:00", "weekends 10:00", "mon,thu 9:30", "mon-fri 18:00", or the five '
    'fields of cron, as in "30 7 * * 1-5"'
)
_AT_FORMS: Final = '02:00 (the next time that it is), "2026-12-01 02:00", or with its zone 2026-12-01T02:00:00+01:00'
_NAMES: Final = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_SETS: Final = {
    "daily": ALL_WEEKDAYS,
    "day": ALL_WEEKDAYS,
    "weekdays": (1, 2, 3, 4, 5),
    "weekday": (1, 2, 3, 4, 5),
    "weekends": (0, 6),
    "weekend": (0, 6),
}
_TIME: Final = re.compile(r"(\d{1,2}):(\d\d)")
_LENGTH: Final = re.compile(r"(?:(\d{1,4})h)? ?(?:(\d{1,4})m(?:in)?)?")
_ON_DAYS: Final = re.compile(r"(?P<days>[a-z][a-z,-]*)(?: at)?(?: (?P<time>[\d:]+))?")
_MOMENT: Final = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d{1,2}:\d\d)(:\d\d)?(Z|[+-]\d\d:\d\d)?")
_LONGEST: Final = 24 * 3600  # seconds
_SHORTEST: Final = 60


def parse_every(text: str) -> Recurrence:
    """Raises UsageError."""
    words = " ".join(text.lower().split()).removeprefix("every ")
    if words in ("hour", "hourly"):
        return Calendar()
    if len(words.split()) == 5:
        return parse_cron(words)
    if (length := _LENGTH.fullmatch(words)) is not None and words:
        return _interval(text, 3600 * int(length[1] or 0) + 60 * int(length[2] or 0))
    on_days = _ON_DAYS.fullmatch(words)
    if on_days is None or (weekdays := _weekdays(on_days["days"])) is None:
        raise UsageError(f"{cut_repr(text)} is not an interval. Write one of these: {_EVERY_FORMS}.")
    if on_days["time"] is None:
        raise UsageError(f'{cut_repr(text)} names no time of day: add one, as in "{words} 7:00".')
    hour, minute = _time(on_days["time"])
    return Calendar(minutes=(minute,), hours=(hour,), weekdays=weekdays)


def parse_at(text: str, now: datetime, zone: tzinfo) -> datetime:
    """A moment to come, in UTC. Raises UsageError."""
    words = " ".join(text.split())
    if _TIME.fullmatch(words):
        hour, minute = _time(words)
        found = next_after(Calendar(minutes=(minute,), hours=(hour,)), now, zone)
        assert found is not None
        return found
    if (form := _MOMENT.fullmatch(words)) is None:
        raise UsageError(f"{cut_repr(text)} is not a time. Write one of these: {_AT_FORMS}.")
    moment = _moment(text, form, zone)
    if moment <= now:
        raise UsageError(f"{cut_repr(text)} has passed: it is {now.astimezone(zone):%Y-%m-%d %H:%M} now.")
    return moment


def _moment(text: str, form: re.Match[str], zone: tzinfo) -> datetime:
    hour, minute = _time(form[2])
    try:
        found = datetime.fromisoformat(f"{form[1]}T{hour:02}:{minute:02}{form[3] or ''}{form[4] or ''}")
        moment = (found if found.tzinfo is not None else found.replace(tzinfo=zone)).astimezone(UTC)
        shown = moment.astimezone(zone).replace(tzinfo=None)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{cut_repr(text)} is not a time: {error}.") from None
    if found.tzinfo is None and shown != found:
        raise UsageError(f"There is no {cut_repr(text)} in {zone}: the clock skips it that day. Name another time.")
    return moment


def _interval(text: str, seconds: int) -> Interval:
    if not _SHORTEST <= seconds <= _LONGEST:
        raise UsageError(
            f"{cut_repr(text)}: an interval is between 1m and 24h. For whole days, write "
            '"daily 02:00" or "mon,thu 9:30".'
        )
    return Interval(seconds=seconds)


def _time(text: str) -> tuple[int, int]:
    form = _TIME.fullmatch(text)
    if form is None or int(form[1]) > 23 or int(form[2]) > 59:
        raise UsageError(f"{cut_repr(text)} is not a time of day: write hours and minutes, as in 7:00 or 17:30.")
    return int(form[1]), int(form[2])


def _weekdays(text: str) -> tuple[int, ...] | None:
    """The numbers of weekdays; None if these are no days."""
    if text in _SETS:
        return _SETS[text]
    found: set[int] = set()
    for each in text.split(","):
        first, dash, last = each.partition("-")
        begin, end = _weekday(first), _weekday(last if dash else first)
        if begin is None or end is None:
            return None
        found.update((begin + number) % 7 for number in range((end - begin) % 7 + 1))
    return tuple(sorted(found))


def _weekday(text: str) -> int | None:
    """`mon`, `monday` or `mondays`."""
    name = text.removesuffix("s") if len(text) > 4 else text
    return next((number for number, full in enumerate(_NAMES) if len(name) > 2 and name in (full, full[:3])), None)
