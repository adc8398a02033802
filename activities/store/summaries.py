"""Summaries of compactions, as exports show them."""

import asyncio
from typing import Any, Final

from activities.store.attempts import RequestForm
from activities.store.queries import Queries
from activities.store.statements import RowReader
from activities.store.transcript import PART, REMINDERS
from workflows.domain.ids import SessionId
from workflows.domain.messages import ReminderName
from workflows.domain.views.messages import SummaryDetails, SummaryPart

_QUERIES: Final = Queries("compactions")


async def of_session(reader: RowReader, session: SessionId) -> list[SummaryDetails]:
    """A session's summaries, the oldest first."""
    rows, parts = await asyncio.gather(
        reader.rows(_QUERIES.answers, session=session), reader.rows(_QUERIES.parts, session=session)
    )
    return [_row(row, [part for part in parts if part["message"] == row["id"]]) for row in rows]


def _row(row: dict[str, Any], parts: list[dict[str, Any]]) -> SummaryDetails:
    reminders, form = REMINDERS.validate_python(row.pop("reminders") or ()), row.pop("form")
    made = RequestForm.model_validate(form).compaction if form is not None else None
    return SummaryDetails(
        **row,
        asked=made is not None and bool(made.requests),
        parts=tuple(SummaryPart(id=part["id"], body=PART.validate_python(part["body"])) for part in parts),
        go_on=next((each.text for each in reminders if each.name is ReminderName.CONTINUE), None),
    )
