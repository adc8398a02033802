"""Titles of sessions: content, which the log only names by its seal."""

from typing import Final

from activities.store import asides, notes
from activities.store.journal import Journal
from activities.store.queries import Queries
from workflows.domain.events.sessions import SessionTitled
from workflows.domain.generation import Purpose
from workflows.domain.ids import GenerationId, NoteId, TurnId, title_id
from workflows.domain.titles import wants_title

_QUERIES: Final = Queries("titles")


def give(journal: Journal, title: str, generation: GenerationId | None = None) -> None:
    """Ends all requests for one. `generation`: whose answer it is; None: a person gives it."""
    note = NoteId(f"{journal.session}/{journal.next_seq}")
    journal.write(_QUERIES.set, session=journal.session, title=title)
    asides.withdraw_titles(journal)
    journal.record(SessionTitled(note=note, seal=notes.store(journal, note, title), generation=generation))


def settle(journal: Journal, generation: GenerationId, title: str | None) -> None:
    """Store the model's title; None if its answer has none."""
    if title is not None:
        give(journal, title, generation)
    else:
        asides.withdraw_titles(journal, generation)


async def request_if_due(journal: Journal, turn: TurnId) -> GenerationId | None:
    """Request a title if the turn that opens is due one."""
    facts = await journal.row(_QUERIES.facts, session=journal.session)
    if facts is None or not wants_title(**facts):
        return None
    asides.request(journal, Purpose.TITLE, title_id(turn), turn)
    return title_id(turn)
