"""Waits on purpose, in words."""

from datetime import datetime
from typing import Final

from worker.api.events import EventWithContents
from worker.cli.render.escaping import escape_exact, one_line
from worker.cli.render.event_contents import actor_of, time_of
from worker.cli.render.formatting import format_upcoming
from worker.stored_contents import note_of
from worker.wait_contents import begun_wait
from workflows.domain.events.event import Event
from workflows.domain.events.waits import WaitBegun, WaitEnded
from workflows.domain.waits import FileEvent, WaitEnd, WaitKind, WaitSubject

_NAME: Final = 60  # characters of a file's name
_TEXT: Final = 300  # characters of a poke's text
_FILE: Final = {FileEvent.ANY: "a change of", FileEvent.CREATED: "the file", FileEvent.DELETED: "the end of"}


def describe_wait(subject: WaitSubject, until: datetime | None, now: datetime) -> str:
    """A predicate: "waits until 14:30"."""
    moment = f"until {format_upcoming(until, now)}" if until is not None else ""
    name = one_line(subject.name, _NAME)
    match subject.kind:
        case WaitKind.TIME:
            return f"waits {moment}"
        case WaitKind.FILE:
            what = f"waits for {_FILE[subject.event]} {name}"
        case WaitKind.POKE:
            what = f"waits for a poke: {name}"
    return f"{what}, {moment} at most" if moment else what


def how_to_poke(subject: WaitSubject) -> str:
    return f"holdfast poke {escape_exact(subject.name)}"


def wait_sentence(event: Event, seen: EventWithContents) -> tuple[str, str | None] | None:
    """With its colour. The end by its moment or file is told by its call."""
    match event:
        case WaitBegun():
            subject, until = begun_wait(seen, event)
            command = f" ({how_to_poke(subject)})" if subject.kind is WaitKind.POKE else ""
            return f"  {describe_wait(subject, until, time_of(seen))}{command}", None
        case WaitEnded(end=WaitEnd.POKED):
            text = f": {one_line(note_of(seen, event.note), _TEXT)}" if event.note is not None else ""
            return f"  poked by {actor_of(seen)}{text}", None
        case WaitEnded(end=WaitEnd.WOKEN):
            return f"  {actor_of(seen)} has ended the wait", None
    return None
