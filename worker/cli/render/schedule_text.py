"""Schedules, for people."""

from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

from worker.cli.render.escaping import escape_exact, one_line
from worker.cli.render.formatting import format_duration, pluralize
from workflows.domain.schedules.decision import Missed, Overlap, ScheduleState
from workflows.domain.views.schedules import ScheduleEntry, ScheduleEvent, ScheduleVerification

_TITLE = 60  # characters
_NOTE = 300


def describe_created(entry: ScheduleEntry, now: datetime) -> Iterator[str]:
    yield f"It prompts {_prompted_sessions(entry)}: {describe_timing(entry)}; {describe_state(entry, now)}."
    yield (
        "It runs while the stack does. `holdfast schedules` lists it; its subcommands pause it, run it now, or "
        "delete it."
    )


def describe_timing(entry: ScheduleEntry) -> str:
    return f"{escape_exact(entry.timing)} ({entry.zone})"


def describe_state(entry: ScheduleEntry, now: datetime) -> str:
    """When it is due next, or why it is not."""
    if entry.state is ScheduleState.PAUSED:
        return f"paused: {one_line(entry.note, _NOTE)}" if entry.note else "paused"
    if entry.state is not ScheduleState.ACTIVE:
        return entry.state.value
    waits = "a run waits for the one before; " if entry.queued_for is not None else ""
    if entry.next_at is None:
        return f"{waits}no time follows"
    left = (entry.next_at - now).total_seconds()
    away = f"in {format_duration(left)}" if left > 0 else "due now"
    return f"{waits}next: {_in_zone(entry.next_at, entry.zone)} ({away})"


def describe_last(entry: ScheduleEntry) -> str:
    """What it did last, without the note: the note of a refusal is the reason of the pause."""
    if entry.last is None:
        return "has not run yet"
    return describe_event(entry.last.model_copy(update={"note": None}), entry.zone)


def describe_event(event: ScheduleEvent, zone: str) -> str:
    """What happened, when, and by whom."""
    at = _in_zone(event.at, zone)
    due = f"the run of {_in_zone(event.nominal, zone)}" if event.nominal is not None else ""
    note = f": {one_line(event.note, _NOTE)}" if event.note else ""
    who = escape_exact(event.author)
    match event.kind:
        case "started":
            late = f", at {at}" if event.nominal and (event.at - event.nominal).total_seconds() > 60 else ""
            return f"{due} prompted {event.session}{late}"
        case "triggered":
            return f"triggered by {who} at {at}, which prompted {event.session}"
        case "queued":
            return f"{due} waits for the run before"
        case "skipped":
            return f"{due} was left out: the run before was at work"
        case "missed":
            return f"{due} was missed, and left out"
        case "refused":
            return f"{due} was refused{note}"
    return f"{event.kind} by {who} at {at}{note}"


def describe_prompt(entry: ScheduleEntry) -> str:
    if entry.prompt is None:
        return "(deleted)"
    return one_line(entry.title or entry.prompt.title, _TITLE)


def describe_verified(verified: ScheduleVerification) -> str:
    records = pluralize(verified.records, "record")
    if verified.problem is None:
        return f"{verified.schedule}: {records}, the chain is whole, its head is {verified.head}"
    return f"{verified.schedule}: {escape_exact(verified.problem)}; in order before it: {records}"


def render_schedule(entry: ScheduleEntry, events: list[ScheduleEvent], now: datetime) -> Iterator[str]:
    """One schedule with all its details."""
    yield describe_prompt(entry)
    yield f"  {entry.id}, of {escape_exact(entry.author)}, prompts {_prompted_sessions(entry)}"
    yield f"  {describe_timing(entry)}; {describe_state(entry, now)}"
    queue = "waits for it" if entry.overlap is Overlap.QUEUE else "is left out"
    late = "runs once, late" if entry.missed is Missed.RUN else "is left out"
    yield f"  While the run before is at work, the next one {queue}; one that was missed {late}."
    if entry.trouble is not None:
        yield f"  Temporal does not have it, so it runs some seconds late: {one_line(entry.trouble, _NOTE)}"
    if entry.prompt is not None:
        yield ""
        yield from (f"  > {line}" for line in _lines(entry.prompt.text))
    yield ""
    yield from (f"  {describe_event(each, entry.zone)}" for each in events)


def _lines(text: str) -> list[str]:
    lines = text.strip().splitlines()
    shown = [escape_exact(line, tabs=True) for line in lines[:10]]
    return [*shown, "…"] if len(lines) > len(shown) else shown


def _prompted_sessions(entry: ScheduleEntry) -> str:
    if entry.session is not None:
        return f"session {entry.session}"
    return f"a new session in {escape_exact(entry.directory)}" if entry.directory else "new sessions"


def _in_zone(moment: datetime, zone: str) -> str:
    return f"{moment.astimezone(ZoneInfo(zone)):%a %d %b %Y %H:%M}"
