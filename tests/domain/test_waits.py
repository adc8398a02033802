"""Waits on purpose: their moments, and when a file has done what is waited for."""

from datetime import UTC, datetime, timedelta

import pytest

from workflows.domain.waits import MISSING, FileEvent, WaitKind, WaitSubject, has_happened, parse_moment

NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("90s", timedelta(seconds=90)),
        ("45m", timedelta(minutes=45)),
        ("45 min", timedelta(minutes=45)),
        ("2h 30m", timedelta(hours=2, minutes=30)),
        ("1w2d", timedelta(days=9)),
        ("PT2H", timedelta(hours=2)),
        ("P1DT30M", timedelta(days=1, minutes=30)),
        ("2026-11-24T12:00:00Z", NOON),
        ("2026-11-24T13:00+01:00", NOON),
        ("2026-11-24 12:00", NOON.replace(tzinfo=None)),
    ],
)
def test_a_moment_is_a_duration_or_iso_8601(text: str, moment: timedelta | datetime) -> None:
    assert parse_moment(text) == moment


@pytest.mark.parametrize("text", ["", "soon", "tomorrow", "5", "P1M", "PT", "-5m", "14:30", "1h30", "9" * 30 + "s"])
def test_anything_else_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="."):
        parse_moment(text)


@pytest.mark.parametrize(
    ("event", "seen", "now", "happened"),
    [
        (FileEvent.ANY, "a", "a", False),
        (FileEvent.ANY, "a", "b", True),
        (FileEvent.ANY, "a", MISSING, True),
        (FileEvent.ANY, MISSING, "a", True),
        (FileEvent.CREATED, MISSING, MISSING, False),
        (FileEvent.CREATED, MISSING, "a", True),
        (FileEvent.CREATED, "a", "a", True),
        (FileEvent.DELETED, "a", "b", False),
        (FileEvent.DELETED, "a", MISSING, True),
    ],
)
def test_a_file_has_done_what_is_waited_for(event: FileEvent, seen: str, now: str, happened: bool) -> None:
    subject = WaitSubject(kind=WaitKind.FILE, name="a", event=event, seen=seen)
    assert has_happened(subject, now) is happened
