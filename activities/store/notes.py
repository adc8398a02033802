"""Notes: words of others that an event is about, a provider's for instance. They may quote anything, so they stand
apart from the log, which names them by their seal."""

from typing import Final

from activities.store.journal import Journal, seal
from activities.store.queries import Queries
from workflows.domain.ids import NoteId

_QUERIES: Final = Queries("notes")


def keep(opened: Journal, note: NoteId, text: str) -> str:
    """Store the words of an event; their seal."""
    sealed = seal(text)
    opened.write(_QUERIES.keep, id=note, session=opened.session, body=sealed.content, salt=sealed.salt)
    return sealed.seal
