"""What comes of a request of a person that no turn waits for: a title, a summary."""

from worker.api.events import EventWithContents
from worker.cli.command_support import print_note
from worker.cli.render.escaping import escape_prose
from worker.stored_contents import note_of
from workflows.domain.events.event import Event
from workflows.domain.events.generations import MessageCompleted
from workflows.domain.events.sessions import AsideFailed
from workflows.domain.ids import GenerationId


def is_answered(event: Event, generation: GenerationId) -> bool:
    """Whether the model has answered, or cannot be asked."""
    return isinstance(event, MessageCompleted | AsideFailed) and event.generation == generation


def print_failure(seen: EventWithContents) -> None:
    """Why no model could be asked, if none could."""
    if isinstance(event := seen.record.event, AsideFailed):
        print_note(escape_prose(note_of(seen, event.note)))
