"""Whether a person may have a model asked apart from a session's turns, and why it was asked in vain."""

from typing import Final

from activities.store import notes
from activities.store.journal import Journal
from activities.store.queries import Queries
from workflows.domain.errors import Conflict
from workflows.domain.events.sessions import AsideFailed
from workflows.domain.generation import Generation
from workflows.domain.ids import NoteId, TurnId

_QUERIES: Final = Queries("aside_requests")


async def turn_to_ask_about(journal: Journal, nothing: str, instead: str = "") -> TurnId:
    """The session's newest turn, whose configuration and model count. Raises Conflict for a session that has had none
    (`nothing` is there to be asked about), or takes none now; `instead`: what a person can do."""
    newest = await journal.row(_QUERIES.newest_turn, session=journal.session)
    if journal.ended:
        raise Conflict(f"Session {journal.session!r} has ended: no model is asked any more. {instead}".rstrip())
    if journal.suspension is not None:
        text = f"Session {journal.session!r} is suspended: no model is asked until it is resumed. {instead}"
        raise Conflict(text.rstrip())
    if newest is None:
        raise Conflict(f"Session {journal.session!r} has not begun: {nothing}. {instead}".rstrip())
    return TurnId(newest["id"])


def fail(journal: Journal, generation: Generation, reason: str) -> None:
    """`reason`: for people."""
    note = NoteId(f"{journal.session}/{journal.next_seq}")
    words = notes.store(journal, note, reason)
    journal.record(AsideFailed(generation=generation.id, purpose=generation.purpose, note=note, seal=words))
