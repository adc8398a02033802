"""Attempts at steps that a provider has failed, and that were repeated."""

from datetime import datetime
from typing import Final

from activities.store.events import parse_record
from activities.store.queries import Queries
from activities.store.statements import RowReader
from workflows.domain.events.generations import BEHIND_LIMIT, ModelRetry
from workflows.domain.ids import SessionId
from workflows.domain.views.messages import StepFailure

_QUERIES: Final = Queries("step_failures")


async def of_session(reader: RowReader, session: SessionId) -> list[StepFailure]:
    """A session's failed attempts, the oldest first."""
    records = [parse_record(bytes(row["canonical"])) for row in await reader.rows(_QUERIES.of_session, session=session)]
    failed = [(record.at, record.event) for record in records if isinstance(record.event, ModelRetry)]
    ids = [event.note for _, event in failed]
    notes = {row["id"]: row["body"] for row in await reader.rows(_QUERIES.messages, ids=ids)}
    return [
        StepFailure(
            turn=event.turn,
            step=event.step,
            attempt=event.attempt,
            kind=event.kind,
            message=notes.get(event.note, ""),
            at=datetime.fromisoformat(at),
        )
        for at, event in failed
        if event.turn is not None and event.step is not None and event.kind != BEHIND_LIMIT
    ]
