"""Summaries of what a session has changed, which people ask a model for: requested here, held by the answers."""

from typing import Final

from activities.store import model_answers
from activities.store.aside_requests import turn_to_ask_about
from activities.store.journal import Journal
from activities.store.queries import Queries
from activities.store.statements import RowReader
from workflows.domain.errors import Conflict
from workflows.domain.events.sessions import SummaryRequested
from workflows.domain.ids import GenerationId, MessageId, SessionId, TurnId
from workflows.domain.titles import without_thoughts
from workflows.domain.value import Value
from workflows.domain.wake_signal import WakeKind

_QUERIES: Final = Queries("change_summaries")


class ChangeSummaryRow(Value):
    """`number`: of the newest turn when it was asked for; `prompt`: the newest one then."""

    generation: GenerationId
    number: int
    prompt: MessageId | None
    text: str


async def ask(journal: Journal, generation: GenerationId) -> None:
    """Raises Conflict for a session without an answer, or one that takes no turn now."""
    turn = await turn_to_ask_about(journal, "nothing was changed yet")
    if await journal.row(_QUERIES.any_answer, session=journal.session) is None:
        raise Conflict(f"Session {journal.session!r} has no answer of its model yet: nothing was changed.")
    named = {"generation": generation, "session": journal.session, "turn": turn}
    journal.write(_QUERIES.request, **named, author=journal.actor.subject)
    journal.record(SummaryRequested(generation=generation))
    journal.notify(WakeKind.SUMMARY, generation)


async def requested_for(journal: Journal, generation: GenerationId) -> TurnId | None:
    """The turn whose configuration and model count; None if there is no request."""
    found = await journal.row(_QUERIES.requested_for, session=journal.session, generation=generation)
    return found["turn"] if found else None


async def newest(reader: RowReader, session: SessionId) -> ChangeSummaryRow | None:
    """The newest summary that is not empty."""
    for row in await reader.rows(_QUERIES.answered, session=session):
        text = without_thoughts(await model_answers.read_text(reader, row["generation"])).strip()
        if text:
            return ChangeSummaryRow(**row, text=text)
    return None
