"""What the log says of waits on purpose."""

from typing import Final

from worker.api.events import EventWithContents
from worker.cli.render.escaping import one_line
from worker.cli.render.event_contents import actor_of, time_of
from worker.cli.render.wait_text import describe_wait, how_to_poke
from worker.stored_contents import note_of
from worker.wait_contents import begun_wait
from workflows.domain.events.event import Event
from workflows.domain.events.waits import WaitBegun, WaitEnded
from workflows.domain.waits import WaitEnd, WaitKind

_TEXT: Final = 300  # characters of a poke's text


def wait_sentence(event: Event, seen: EventWithContents) -> tuple[str, str | None] | None:
    """With its colour. None for an end by time or file: the call itself says it."""
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
