"""Titles of sessions: content, which the log only names by its seal."""

from typing import Final

from activities.store import notes
from activities.store.journal import Journal
from activities.store.queries import Queries
from workflows.domain.events.sessions import SessionTitled
from workflows.domain.ids import GenerationId, NoteId

_QUERIES: Final = Queries("titles")


def give(journal: Journal, title: str, generation: GenerationId | None = None) -> None:
    """`generation`: whose answer it is; None: a person gives it."""
    note = NoteId(f"{journal.session}/{journal.version.seq + len(journal.records) + 1}")
    journal.write(_QUERIES.set, session=journal.session, title=title)
    journal.record(SessionTitled(note=note, seal=notes.store(journal, note, title), generation=generation))
