"""What a model is asked apart from a session's turns, a title and a summary of the changes, and titles themselves:
content, which the log only names by its seal."""

from typing import Final

from activities.store.journal import Journal
from activities.store.queries import Queries
from activities.store.statements import RowReader
from workflows.domain.errors import Conflict
from workflows.domain.events.sessions import AsideFailed, AsideRequested, SessionTitled
from workflows.domain.generation import Generation, Purpose
from workflows.domain.ids import GenerationId, NoteId, SessionId, TurnId, title_id
from workflows.domain.titles import wants_title
from workflows.domain.views.sessions import ChangeSummary
from workflows.domain.wake_signal import WakeKind

_QUERIES: Final = Queries("asides")


async def ask(journal: Journal, purpose: Purpose, generation: GenerationId) -> None:
    """As a person wants. Raises Conflict for a session without what to ask about, or one that takes no turn now."""
    is_title = purpose is Purpose.TITLE
    nothing = "there is nothing to name yet" if is_title else "nothing was changed yet"
    instead = f" `holdfast title {journal.session} TEXT` names it." if is_title else ""
    newest = await journal.row(_QUERIES.newest_turn, session=journal.session)
    if journal.ended:
        raise Conflict(f"Session {journal.session!r} has ended: no model is asked any more.{instead}")
    if journal.suspension is not None:
        raise Conflict(f"Session {journal.session!r} is suspended: no model is asked until it is resumed.{instead}")
    if newest is None:
        raise Conflict(f"Session {journal.session!r} has not begun: {nothing}.{instead}")
    if not is_title and await journal.row(_QUERIES.any_answer, session=journal.session) is None:
        raise Conflict(f"Session {journal.session!r} has no answer of its model yet: nothing was changed.")
    request(journal, purpose, generation, TurnId(newest["id"]))
    journal.record(AsideRequested(purpose=purpose, generation=generation))
    journal.notify(WakeKind(purpose.value), generation)


def request(journal: Journal, purpose: Purpose, generation: GenerationId, turn: TurnId) -> None:
    """`turn`: whose configuration and model count."""
    asked = {"generation": generation, "session": journal.session, "purpose": purpose, "turn": turn}
    journal.write(_QUERIES.request, **asked, author=journal.actor.subject)


async def title_of_turn(journal: Journal, turn: TurnId) -> GenerationId | None:
    """The title that an open turn still has to ask for."""
    found = await journal.row(_QUERIES.title_of_turn, session=journal.session, turn=turn)
    return found["generation"] if found else None


async def requested_for(journal: Journal, generation: GenerationId) -> TurnId | None:
    """The turn whose configuration and model count; None if nothing is wanted any more."""
    found = await journal.row(_QUERIES.requested_for, session=journal.session, generation=generation)
    return found["turn"] if found else None


def withdraw_titles(journal: Journal, generation: GenerationId | None = None) -> None:
    """End the requests of a title: all, or that of an answer."""
    journal.write(_QUERIES.withdraw_titles, session=journal.session, generation=generation)


def fail(journal: Journal, generation: Generation, reason: str) -> None:
    """`reason`: for people. The request of a title ends: each load of its turn would repeat it."""
    note = NoteId(f"{journal.session}/{journal.next_seq}")
    seal = journal.store_note(note, reason)
    journal.record(AsideFailed(generation=generation.id, purpose=generation.purpose, note=note, seal=seal))
    withdraw_titles(journal, generation.id)


async def summaries(reader: RowReader, session: SessionId) -> list[ChangeSummary]:
    """The answers that sum up the changes, without their texts, the newest first."""
    return [ChangeSummary(**row) for row in await reader.rows(_QUERIES.summaries, session=session)]


def give_title(journal: Journal, title: str, generation: GenerationId | None = None) -> None:
    """Ends all requests for one. `generation`: whose answer it is; None: a person gives it."""
    note = NoteId(f"{journal.session}/{journal.next_seq}")
    journal.write(_QUERIES.set_title, session=journal.session, title=title)
    withdraw_titles(journal)
    journal.record(SessionTitled(note=note, seal=journal.store_note(note, title), generation=generation))


def settle_title(journal: Journal, generation: GenerationId, title: str | None) -> None:
    """Store the model's title; None if its answer has none."""
    if title is not None:
        give_title(journal, title, generation)
    else:
        withdraw_titles(journal, generation)


async def request_title_if_due(journal: Journal, turn: TurnId) -> GenerationId | None:
    """Request a title if the turn that opens is due one."""
    facts = await journal.row(_QUERIES.title_facts, session=journal.session)
    if facts is None or not wants_title(**facts):
        return None
    request(journal, Purpose.TITLE, title_id(turn), turn)
    return title_id(turn)
