"""The transcript of a session, put together from prompts, answers, their parts and their calls."""

import asyncio
from collections import defaultdict
from typing import Any, Final

from pydantic import TypeAdapter

from activities.store.queries import Queries
from activities.store.statements import Reads
from workflows.domain.ids import SessionId
from workflows.domain.messages import (
    AnswerBody,
    AssistantMessage,
    Message,
    Outcome,
    Part,
    StoredPart,
    ToolPart,
    Transcript,
    UserMessage,
)

_QUERIES: Final = Queries("generations")
_CALLS: Final = Queries("calls")
_PART: Final[TypeAdapter[StoredPart]] = TypeAdapter(StoredPart)


async def read(reads: Reads, session: SessionId) -> Transcript:
    """All taken prompts and committed answers, in the order in which the model saw or gave them."""
    prompts, answers, parts, calls = await asyncio.gather(
        reads.rows(_QUERIES.prompts, session=session),
        reads.rows(_QUERIES.messages, session=session),
        reads.rows(_QUERIES.parts, session=session),
        reads.rows(_CALLS.shown, session=session),
    )
    by_message: dict[str, list[tuple[int, Part]]] = defaultdict(list)
    for row in parts:
        by_message[row["message"]].append((row["position"], _PART.validate_python(row["body"])))
    for row in calls:
        by_message[row["message"]].append((row["position"], tool_part(row)))
    placed = [((row["number"], row["step"], 0, row["taken"]), _user(row)) for row in prompts]
    placed += [((row["number"], row["step"], 1, 0), _answer(row, by_message)) for row in answers]
    return tuple(message for _, message in sorted(placed, key=lambda entry: entry[0]))


def tool_part(row: dict[str, Any]) -> ToolPart:
    """A call's row as a part of its message."""
    return ToolPart(
        id=row["id"],
        provider_id=row["provider_id"],
        tool=row["tool"],
        arguments=row["arguments"],
        state=row["state"],
        outcome=Outcome.model_validate(row["outcome"]) if row["outcome"] is not None else None,
    )


def _user(row: dict[str, Any]) -> Message:
    text = row["body"]["text"]
    return UserMessage(id=row["id"], turn=row["turn"], step=row["step"], text=text, at=row["accepted_at"])


def _answer(row: dict[str, Any], by_message: dict[str, list[tuple[int, Part]]]) -> Message:
    parts = sorted(by_message[row["id"]], key=lambda entry: entry[0])
    return AssistantMessage(
        id=row["id"],
        turn=row["turn"],
        step=row["step"],
        body=AnswerBody.model_validate(row["body"]),
        at=row["created_at"],
        parts=tuple(part for _, part in parts),
    )
