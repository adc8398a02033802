"""Numbers and times for people."""

from datetime import UTC, datetime, timedelta

import pytest

from worker.cli.render.formatting import format_age, format_duration, format_queued_prompts, format_upcoming

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(("past", "said"), [(5, "5 s"), (120, "2 min"), (7200, "2 h"), (200_000, "2 d"), (-10, "0 s")])
def test_ages_have_their_largest_unit(past: int, said: str) -> None:
    assert format_age(NOON - timedelta(seconds=past), NOON) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-1, "0 s"), (59.4, "59 s"), (60, "1 min"), (61, "1 min 1 s"), (11_520, "3 h 12 min"), (86_400, "1 d")],
)
def test_durations_have_their_two_largest_units(seconds: float, said: str) -> None:
    assert format_duration(seconds) == said


def test_a_coming_moment_is_in_local_time() -> None:
    soon, later, another_day = (NOON + timedelta(minutes=minutes) for minutes in (1, 9, 48 * 60))
    another_year = NOON + timedelta(days=400)

    assert format_upcoming(soon, NOON) == f"{soon.astimezone():%H:%M:%S}"
    assert format_upcoming(later, NOON) == f"{later.astimezone():%H:%M}"
    assert format_upcoming(another_day, NOON) == f"{another_day.astimezone():%a %d %b, %H:%M}"
    assert format_upcoming(another_year, NOON) == f"{another_year.astimezone():%a %d %b %Y, %H:%M}"


def test_prompts_behind_an_ask_are_counted() -> None:
    assert format_queued_prompts(2, "per_1") == "2 prompts wait behind ask per_1"
    assert format_queued_prompts(0, "per_1") == format_queued_prompts(2, None) == ""
