"""Notes: others' texts, which may quote anything: the log only names their seal."""

from typing import Final

from activities.store.journal import Journal, seal
from activities.store.queries import Queries
from workflows.domain.ids import NoteId

_QUERIES: Final = Queries("notes")


def store(journal: Journal, note: NoteId, text: str) -> str:
    """Returns the seal."""
    sealed = seal(text)
    journal.write(_QUERIES.insert, id=note, session=journal.session, body=sealed.content, salt=sealed.salt)
    return sealed.seal
