"""When a schedule is due: once, in equal intervals, or by a calendar."""

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import product
from typing import Annotated, Final, Literal

from pydantic import Field

from workflows.domain.value import Value

ALL_HOURS: Final = tuple(range(24))
ALL_DAYS: Final = tuple(range(1, 32))
ALL_MONTHS: Final = tuple(range(1, 13))
ALL_WEEKDAYS: Final = tuple(range(7))
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY: Final = timedelta(days=1)
_HORIZON: Final = 9 * 366  # days: from one 29 February to the next there may be eight years


class Once(Value):
    kind: Literal["once"] = "once"
    at: datetime


class Interval(Value):
    """Multiples of it since 1970, as Temporal counts them: every 15 minutes is on the quarters of an hour."""

    kind: Literal["interval"] = "interval"
    seconds: int

    @property
    def every(self) -> timedelta:
        return timedelta(seconds=self.seconds)


class Calendar(Value):
    """The minutes of a time zone's clock that match every field. Weekday 0 is Sunday, as in cron and in Temporal."""

    kind: Literal["calendar"] = "calendar"
    minutes: tuple[int, ...] = (0,)
    hours: tuple[int, ...] = ALL_HOURS
    days: tuple[int, ...] = ALL_DAYS
    months: tuple[int, ...] = ALL_MONTHS
    weekdays: tuple[int, ...] = ALL_WEEKDAYS

    def has(self, day: date) -> bool:
        return day.month in self.months and day.day in self.days and day.isoweekday() % 7 in self.weekdays

    def moments(self, day: date, zone: tzinfo) -> list[datetime]:
        """The moments of a day that matches, in order.

        A time that the clock skips that day is left out. A time that it shows twice counts once, or twice if the
        calendar has every hour.
        """
        folds = (0, 1) if self.hours == ALL_HOURS else (0,)
        found = set()
        for hour, minute, fold in product(self.hours, self.minutes, folds):
            local = datetime(day.year, day.month, day.day, hour, minute, fold=fold)
            moment = local.replace(tzinfo=zone).astimezone(UTC)
            if moment.astimezone(zone).replace(tzinfo=None) == local:
                found.add(moment)
        return sorted(found)


Recurrence = Annotated[Once | Interval | Calendar, Field(discriminator="kind")]


def next_after(recurrence: Recurrence, moment: datetime, zone: tzinfo) -> datetime | None:
    """The first time after this moment; None: there is none."""
    match recurrence:
        case Once(at=at):
            return at if at > moment else None
        case Interval(every=every):
            return _EPOCH + ((moment - _EPOCH) // every + 1) * every
        case Calendar():
            later = (each for each in _moments(recurrence, moment, zone, _DAY) if each > moment)
            return next(later, None)


def latest_until(recurrence: Recurrence, moment: datetime, zone: tzinfo) -> datetime | None:
    """The last time that is not after this moment; None: there is none."""
    match recurrence:
        case Once(at=at):
            return at if at <= moment else None
        case Interval(every=every):
            return _EPOCH + (moment - _EPOCH) // every * every
        case Calendar():
            earlier = (each for each in _moments(recurrence, moment, zone, -_DAY) if each <= moment)
            return next(earlier, None)


def _moments(calendar: Calendar, begin: datetime, zone: tzinfo, step: timedelta) -> Iterator[datetime]:
    """All moments from the day of `begin` on, forwards or backwards."""
    first = begin.astimezone(zone).date()
    for number in range(_HORIZON):
        day = first + number * step
        if calendar.has(day):
            found: Iterable[datetime] = calendar.moments(day, zone)
            yield from found if step > timedelta(0) else reversed(list(found))
