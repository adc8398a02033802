"""What may be typed for the times of a schedule, and when that is."""

from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

import pytest

from workflows.domain.errors import UsageError
from workflows.domain.schedules.recurrence import latest_until, next_after
from workflows.domain.schedules.timing import parse_at, parse_every

BERLIN: Final = ZoneInfo("Europe/Berlin")
NOW: Final = datetime(2026, 11, 24, 20, 5, tzinfo=UTC)  # a Tuesday, 21:05 in Berlin


def following(text: str, after: str = "2026-11-24 21:05", count: int = 3) -> list[str]:
    """The next times, by Berlin's clock; the last time until each of them is itself."""
    found, moment = [], datetime.fromisoformat(after).replace(tzinfo=BERLIN)
    recurrence = parse_every(text)
    for _ in range(count):
        after_it = next_after(recurrence, moment, BERLIN)
        assert after_it is not None and latest_until(recurrence, after_it, BERLIN) == after_it
        found.append(f"{after_it.astimezone(BERLIN):%a %d %H:%M}")
        moment = after_it
    return found


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("hourly", ["Tue 24 22:00", "Tue 24 23:00", "Wed 25 00:00"]),
        ("15m", ["Tue 24 21:15", "Tue 24 21:30", "Tue 24 21:45"]),
        ("every 1h30m", ["Tue 24 22:00", "Tue 24 23:30", "Wed 25 01:00"]),
        ("Daily 02:00", ["Wed 25 02:00", "Thu 26 02:00", "Fri 27 02:00"]),
        ("every day at 22:00", ["Tue 24 22:00", "Wed 25 22:00", "Thu 26 22:00"]),
        ("weekdays  7:00", ["Wed 25 07:00", "Thu 26 07:00", "Fri 27 07:00"]),
        ("weekends 10:00", ["Sat 28 10:00", "Sun 29 10:00", "Sat 05 10:00"]),
        ("mon,thu 9:30", ["Thu 26 09:30", "Mon 30 09:30", "Thu 03 09:30"]),
        ("every thursday 9:30", ["Thu 26 09:30", "Thu 03 09:30", "Thu 10 09:30"]),
        ("fri-mon 18:00", ["Fri 27 18:00", "Sat 28 18:00", "Sun 29 18:00"]),
        ("30 7 * * 1-5", ["Wed 25 07:30", "Thu 26 07:30", "Fri 27 07:30"]),
        ("*/20 9,17 * * sun", ["Sun 29 09:00", "Sun 29 09:20", "Sun 29 09:40"]),
        ("0 0 29 feb *", ["Tue 29 00:00", "Sun 29 00:00", "Fri 29 00:00"]),
        ("5 4 1 */3 *", ["Fri 01 04:05", "Thu 01 04:05", "Thu 01 04:05"]),
    ],
)
def test_times_are_understood(text: str, times: list[str]) -> None:
    assert following(text) == times


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("daily 2:30", ["Sat 28 02:30", "Mon 30 02:30"]),  # 29 March: from 2:00 on it is 3:00
        ("hourly", ["Sat 28 00:00", "Sat 28 01:00"]),
    ],
)
def test_a_time_that_the_clock_skips_is_left_out(text: str, times: list[str]) -> None:
    assert following(text, "2026-03-27 23:30", 2) == times


def test_a_time_that_the_clock_shows_twice_counts_once_unless_every_hour_counts() -> None:
    assert following("daily 2:30", "2026-10-24 12:00", 2) == ["Sun 25 02:30", "Mon 26 02:30"]
    assert following("hourly", "2026-10-25 01:30", 3) == ["Sun 25 02:00", "Sun 25 02:00", "Sun 25 03:00"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("every full moon", "is not an interval.*hourly, 15m"),
        ("", "is not an interval"),
        ("daily", 'names no time of day.*"daily 7:00"'),
        ("daily 25:00", "'25:00' is not a time"),
        ("daily 7", "'7' is not a time"),
        ("mon,funday 7:00", "is not an interval"),
        ("mon- 7:00", "is not an interval"),
        ("30s", "is not an interval"),
        ("1" * 5000, "is not an interval"),
        (f"daily {'1' * 5000}", "is not a time of day"),
        (f"*/{'1' * 5000} * * * *", "minute"),
        (f"{'1' * 5000} * * * *", "minute"),
        ("0m", "between 1m and 24h"),
        ("48h", "between 1m and 24h"),
        ("61 * * * *", "no minute of cron: 0 to 59"),
        ("0 9-7 * * *", "no hour of cron"),
        ("0 9 * mai *", "no month of cron: 1 to 12 or jan to dec"),
        ("*/0 * * * *", "no minute of cron"),
        ("0 9 1 * mon", "a day of the month and a weekday"),
    ],
)
def test_other_times_are_refused_with_what_to_write(text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem) as refused:
        parse_every(text)

    assert len(str(refused.value)) < 300


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("22:00", "2026-11-24T21:00:00+00:00"),
        ("2:00", "2026-11-25T01:00:00+00:00"),
        ("2026-12-01 02:00", "2026-12-01T01:00:00+00:00"),
        ("2026-12-01T02:00:30Z", "2026-12-01T02:00:30+00:00"),
        ("2026-12-01T02:00+05:30", "2026-11-30T20:30:00+00:00"),
    ],
)
def test_a_moment_is_understood(text: str, moment: str) -> None:
    assert parse_at(text, NOW, BERLIN) == datetime.fromisoformat(moment)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("soon", "not a time. Write one of these"),
        ("2026-12-01", "not a time"),
        ("2026-13-01 02:00", "not a time"),
        ("2026-11-24 21:00", "has passed: it is 2026-11-24 21:05 now"),
        ("2027-03-28 02:30", "the clock skips it"),
        ("0001-01-01 00:00", "not a time"),
        ("9999-12-31T23:59:00-01:00", "not a time"),
    ],
)
def test_other_moments_are_refused(text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        parse_at(text, NOW, BERLIN)
