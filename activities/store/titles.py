"""Titles of sessions: content, which the log only names by its seal; and requests for them."""

from typing import Final

from activities.store import notes
from activities.store.aside_requests import turn_to_ask_about
from activities.store.journal import Journal
from activities.store.queries import Queries
from workflows.domain.events.sessions import SessionTitled, TitleRequested
from workflows.domain.ids import GenerationId, NoteId, TurnId, title_id
from workflows.domain.titles import wants_title
from workflows.domain.wake_signal import WakeKind

_QUERIES: Final = Queries("titles")


def give(journal: Journal, title: str, generation: GenerationId | None = None) -> None:
    """Ends all requests for one. `generation`: whose answer it is; None: a person gives it."""
    note = NoteId(f"{journal.session}/{journal.next_seq}")
    journal.write(_QUERIES.set, session=journal.session, title=title)
    journal.write(_QUERIES.withdraw_all, session=journal.session)
    journal.record(SessionTitled(note=note, seal=notes.store(journal, note, title), generation=generation))


def settle(journal: Journal, generation: GenerationId, title: str | None) -> None:
    """Store the model's title; None if its answer has none."""
    if title is not None:
        give(journal, title, generation)
    else:
        journal.write(_QUERIES.withdraw, generation=generation)


async def ask(journal: Journal, generation: GenerationId) -> None:
    """Request a title from the model, as a person wants. Raises Conflict for a session that has had no turn, or takes
    none now."""
    name_it = f"`holdfast title {journal.session} TEXT` names it."
    _request(journal, generation, await turn_to_ask_about(journal, "there is nothing to name yet", name_it))
    journal.record(TitleRequested(generation=generation))
    journal.notify(WakeKind.TITLE, generation)


async def request_if_due(journal: Journal, turn: TurnId) -> GenerationId | None:
    """Request a title if the turn that opens is due one."""
    facts = await journal.row(_QUERIES.facts, session=journal.session)
    if facts is None or not wants_title(**facts):
        return None
    _request(journal, title_id(turn), turn)
    return title_id(turn)


async def requested_at(journal: Journal, turn: TurnId) -> GenerationId | None:
    """The title that an open turn still has to ask for."""
    found = await journal.row(_QUERIES.of_turn, session=journal.session, turn=turn)
    return found["generation"] if found else None


async def requested_for(journal: Journal, generation: GenerationId) -> TurnId | None:
    """The turn whose configuration and model count; None if no title is wanted any more."""
    found = await journal.row(_QUERIES.requested_for, session=journal.session, generation=generation)
    return found["turn"] if found else None


def _request(journal: Journal, generation: GenerationId, turn: TurnId) -> None:
    author = journal.actor.subject
    journal.write(_QUERIES.request, generation=generation, session=journal.session, turn=turn, author=author)
