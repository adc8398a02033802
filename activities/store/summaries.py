"""Summaries of compactions, as exports show them."""

import asyncio
from datetime import datetime
from typing import Any, Final

from activities.store.attempts import RequestForm
from activities.store.queries import Queries
from activities.store.statements import RowReader
from activities.store.transcript import PART, REMINDERS
from workflows.domain.ids import MessageId, PartId, SessionId
from workflows.domain.messages import AnswerMetadata, ReminderName, StoredPart
from workflows.domain.value import Value

_QUERIES: Final = Queries("compactions")


class SummaryPartRow(Value):
    id: PartId
    body: StoredPart


class SummaryAnswerRow(Value):
    """A summary of all up to the answer of a step (`last_number`, `last_step`), before the answer of another (`number`,
    `step`), for which a turn's agent and model waited. `media` as in `CompactionRow`; `asked`: a person has asked for
    it; `go_on`: what then told the model to go on, if no prompt did."""

    id: MessageId
    body: AnswerMetadata
    parts: tuple[SummaryPartRow, ...]
    begun_at: datetime
    at: datetime
    last_number: int
    last_step: int
    number: int
    step: int
    agent: str
    model: str
    media: bool
    asked: bool
    go_on: str | None


async def of_session(reader: RowReader, session: SessionId) -> list[SummaryAnswerRow]:
    """A session's summaries, the oldest first."""
    rows, parts = await asyncio.gather(
        reader.rows(_QUERIES.answers, session=session), reader.rows(_QUERIES.parts, session=session)
    )
    return [_row(row, [part for part in parts if part["message"] == row["id"]]) for row in rows]


def _row(row: dict[str, Any], parts: list[dict[str, Any]]) -> SummaryAnswerRow:
    reminders, form = REMINDERS.validate_python(row.pop("reminders") or ()), row.pop("form")
    made = RequestForm.model_validate(form).compaction if form is not None else None
    return SummaryAnswerRow(
        **row,
        asked=made is not None and bool(made.requests),
        parts=tuple(SummaryPartRow(id=part["id"], body=PART.validate_python(part["body"])) for part in parts),
        go_on=next((each.text for each in reminders if each.name is ReminderName.CONTINUE), None),
    )
