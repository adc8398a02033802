"""`--at`, `--every` and what belongs to them."""

import functools
import os
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo, available_timezones

import click

from worker.api.schedules import ScheduleTiming
from workflows.domain.errors import UsageError
from workflows.domain.schedules.decision import Missed, Overlap
from workflows.domain.schedules.recurrence import Interval, Once
from workflows.domain.schedules.timing import parse_at, parse_every
from workflows.domain.value import Value

_LOCALTIME: Final = Path("/etc/localtime")
_UTC: Final = "Etc/UTC"


class ScheduleOptions(Value):
    """`overlap` None: what fits new sessions, or an existing one."""

    at: str | None
    every: str | None
    zone: str | None
    overlap: Overlap | None
    missed: Missed | None

    def timing(self, environment: Mapping[str, str], now: datetime) -> ScheduleTiming:
        """Raises UsageError."""
        name = self.zone or local_zone(environment, _LOCALTIME)
        zone = _require_zone(name)
        if self.every is not None:
            recurrence = parse_every(self.every)
            words = " ".join(self.every.split())
            if isinstance(recurrence, Interval):
                words = f"every {words.lower().removeprefix('every ')}"
            return ScheduleTiming(words=words, recurrence=recurrence, zone=name)
        moment = parse_at(self.at or "", now, zone)
        words = f"once, {moment.astimezone(zone):%Y-%m-%d %H:%M}"
        return ScheduleTiming(words=words, recurrence=Once(at=moment), zone=name)

    def refuse_following(self, given: Mapping[str, bool]) -> None:
        """Raises UsageError for options of a task that begins now."""
        if named := next((name for name, set_ in given.items() if set_), None):
            raise UsageError(f"{named} is for a task that begins now: with --at or --every it begins later.")


def _require_zone(name: str) -> ZoneInfo:
    """Raises UsageError."""
    if name not in available_timezones():
        raise UsageError(f"{name!r} is no time zone that is known here: write its IANA name, as in Europe/Berlin.")
    return ZoneInfo(name)


def local_zone(environment: Mapping[str, str], localtime: Path) -> str:
    """The IANA name of this machine's or shell's time zone. Raises UsageError for a TZ of another form."""
    named = environment.get("TZ", "").removeprefix(":")
    if named.startswith("/"):
        localtime = Path(named)
    elif named:
        if named not in available_timezones():
            raise UsageError(f"TZ is {named!r}, which is no time zone's IANA name: give one with --timezone.")
        return named
    _, found, name = os.path.realpath(localtime).rpartition("/zoneinfo/")
    return name if found and name in available_timezones() else _UTC


_OPTIONS: Final = (
    click.option("--at", metavar="WHEN", help='Begin then, as in 02:00 or "2026-12-01 02:00", and end here.'),
    click.option("--every", metavar="TIMES", help='Begin again and again, as in "weekdays 7:00", 2h, "30 7 * * 1-5".'),
    click.option("--timezone", metavar="ZONE", help="Of --at and --every; without it, this machine's."),
    click.option(
        "--overlap",
        type=click.Choice([each.value for each in Overlap]),
        help="At a time when the run before is at work: leave it out (the default for new sessions), or run after it.",
    ),
    click.option(
        "--missed",
        type=click.Choice([each.value for each in Missed]),
        help="What was missed while all was down: run once, late (the default), or leave it out.",
    ),
)


def schedule_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options to a command's callback, which gets `schedule`: None without --at and --every."""

    @functools.wraps(command)
    def with_schedule(
        *arguments: Any,
        at: str | None,
        every: str | None,
        timezone: str | None,
        overlap: str | None,
        missed: str | None,
        **options: Any,
    ) -> int:
        if at is not None and every is not None:
            raise UsageError("--at and --every both say when: give one of them, or make two schedules.")
        belonging = {"--timezone": timezone, "--overlap": overlap, "--missed": missed}
        if at is None and every is None:
            if lone := next((name for name, value in belonging.items() if value is not None), None):
                raise UsageError(f"{lone} belongs to --at or --every.")
            return command(*arguments, schedule=None, **options)
        schedule = ScheduleOptions(
            at=at,
            every=every,
            zone=timezone,
            overlap=Overlap(overlap) if overlap else None,
            missed=Missed(missed) if missed else None,
        )
        return command(*arguments, schedule=schedule, **options)

    found: Callable[..., int] = with_schedule
    for option in reversed(_OPTIONS):
        found = option(found)
    return found
