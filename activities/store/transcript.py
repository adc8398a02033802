"""A session's transcript, built from prompts, answers, parts and calls."""

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

from pydantic import TypeAdapter

from activities.store.pg_protocol import Rows
from activities.store.queries import Queries
from activities.store.statements import RowReader
from workflows.domain.context.prune import may_be_cleared
from workflows.domain.ids import SessionId, TurnId
from workflows.domain.messages import (
    AnswerMetadata,
    AssistantMessage,
    Message,
    Outcome,
    Part,
    Reminder,
    StepReminders,
    StoredPart,
    ToolPart,
    UserMessage,
)
from workflows.domain.prompt import PromptContent
from workflows.domain.views.messages import CallTimes, MessageDetails

_QUERIES: Final = Queries("transcript")
_PAGE: Final = 50  # answers read together; each may have outputs of 50 KB
REMINDERS: Final = TypeAdapter(tuple[Reminder, ...])
_Order: TypeAlias = tuple[int, int, int, int]  # turn, step, and the place in it
PART: Final[TypeAdapter[StoredPart]] = TypeAdapter(StoredPart)


class StepNumber(NamedTuple):
    """A step, by its turn's number."""

    number: int
    step: int


END: Final = StepNumber(2**31 - 1, 2**31 - 1)


async def read(
    reader: RowReader, session: SessionId, turn: TurnId | None = None, step: int = 0, last: StepNumber = END
) -> tuple[Message | StepReminders, ...]:
    """All taken prompts, reminders and committed answers, in order; or a step's answer, if any, and what follows. Up to
    and with the answer of the `last` step."""
    start = {"session": session, "turn": turn, "step": step, "last_number": last.number, "last_step": last.step}
    prompts, steps, parts, calls = await asyncio.gather(
        reader.rows(_QUERIES.prompts_from, **start),
        reader.rows(_QUERIES.steps_from, **start),
        reader.rows(_QUERIES.parts_from, **start),
        reader.rows(_QUERIES.calls_from, **start),
    )
    placed = [
        *(((row["number"], row["step"], -1, 0), _reminders(row)) for row in steps if row["reminders"]),
        *_placed(prompts, [row for row in steps if row["id"]], parts, calls),
    ]
    return tuple(entry for _, entry in sorted(placed, key=itemgetter(0)))


async def iter_messages(reader: RowReader, session: SessionId) -> AsyncIterator[MessageDetails]:
    """The same with details, in bounded memory."""
    last = StepNumber(0, 0)
    while True:
        answers = await reader.rows(_QUERIES.answers, session=session, limit=_PAGE, **last._asdict())
        full = len(answers) == _PAGE
        end = StepNumber(answers[-1]["number"], answers[-1]["step"]) if full else END
        messages = [row["id"] for row in answers]
        prompts, parts, calls = await asyncio.gather(
            reader.rows(
                _QUERIES.prompts, session=session, **last._asdict(), last_number=end.number, last_step=end.step
            ),
            reader.rows(_QUERIES.parts, messages=messages),
            reader.rows(_QUERIES.calls, messages=messages),
        )
        detail_rows = _DetailRows(prompts, answers, parts, calls)
        for _, message in sorted(_placed(prompts, answers, parts, calls), key=itemgetter(0)):
            yield detail_rows.details_of(message)
        if not full:
            return
        last = end


class _DetailRows:
    def __init__(self, prompts: Rows, answers: Rows, parts: Rows, calls: Rows) -> None:
        self._rows = {row["id"]: row for row in (*prompts, *answers)}
        self._texts = _by_message(parts)
        self._calls = _by_message(calls)

    def details_of(self, message: Message) -> MessageDetails:
        row = self._rows[message.id]
        turn = {"number": row["number"], "opened": row["opened_at"]}
        if isinstance(message, UserMessage):
            names = {"agent": row["agent"], "model": row["model"], "variant": row["variant"]}
            read = dict(zip(row["read_places"], map(json.loads, row["read_arguments"]), strict=True))
            return MessageDetails(message=message, read=read, **turn, **names)
        calls = self._calls[message.id]
        return MessageDetails(
            message=message,
            **turn,
            text_parts=tuple(row["id"] for row in self._texts[message.id]),
            call_times={row["id"]: _call_times(row) for row in calls},
        )


def _call_times(row: dict[str, Any]) -> CallTimes:
    output = row["outcome"]["output"] if row["outcome"] else ""
    cleared = row["pruned_at"] if may_be_cleared(row["state"], row["tool"], output) else None
    child = {"child": row["child"], "model": row["child_model"]}
    times = {"asked": row["asked_at"], "claimed": row["claimed_at"], "settled": row["settled_at"]}
    return CallTimes(**times, cleared=cleared, **child)


def _by_message(rows: Rows) -> dict[str, Rows]:
    found: dict[str, Rows] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row["position"]):
        found[row["message"]].append(row)
    return found


def _placed(prompts: Rows, answers: Rows, parts: Rows, calls: Rows) -> list[tuple[_Order, Message]]:
    by_message: dict[str, list[tuple[int, Part]]] = defaultdict(list)
    for row in parts:
        by_message[row["message"]].append((row["position"], PART.validate_python(row["body"])))
    for row in calls:
        by_message[row["message"]].append((row["position"], tool_part(row)))
    return [
        *(((row["number"], row["step"], 0, row["taken_seq"]), user_message(row)) for row in prompts),
        *(((row["number"], row["step"], 1, 0), _answer(row, by_message)) for row in answers),
    ]


def tool_part(row: dict[str, Any]) -> ToolPart:
    return ToolPart(
        id=row["id"],
        provider_id=row["provider_id"],
        tool=row["tool"],
        arguments=row["arguments"],
        state=row["state"],
        outcome=Outcome.model_validate(row["outcome"]) if row["outcome"] is not None else None,
    )


def _reminders(row: dict[str, Any]) -> StepReminders:
    return StepReminders(
        id=row["generation"], turn=row["turn"], step=row["step"], reminders=REMINDERS.validate_python(row["reminders"])
    )


def user_message(row: dict[str, Any]) -> UserMessage:
    content = PromptContent.model_validate(row["body"])
    return UserMessage(
        id=row["id"],
        turn=row["turn"],
        step=row["step"],
        parts=content.parts,
        system=content.system,
        tools=content.tools,
        shown=row["shown"],
        without_files=row["without_files"],
        mentions=tuple(row["mentions"]),
        format=content.format,
        task_end=content.task_end,
        synthetic=content.synthetic or content.task_end is not None,
        at=row["accepted_at"],
    )


def _answer(row: dict[str, Any], by_message: dict[str, list[tuple[int, Part]]]) -> Message:
    parts = sorted(by_message[row["id"]], key=lambda entry: entry[0])
    return AssistantMessage(
        id=row["id"],
        turn=row["turn"],
        step=row["step"],
        body=AnswerMetadata.model_validate(row["body"]),
        at=row["created_at"],
        parts=tuple(part for _, part in parts),
    )
