"""The transcript of a session, put together from prompts, answers, their parts and their calls."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple

from pydantic import TypeAdapter

from activities.store.queries import Queries
from activities.store.statements import Reads
from activities.store.wire import Rows
from workflows.domain.ids import PartId, SessionId, TurnId
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
from workflows.domain.value import Value

_QUERIES: Final = Queries("generations")
_CALLS: Final = Queries("calls")
_PAGES: Final = Queries("transcript")
_PAGE: Final = 50  # answers that are read together: each may hold outputs of 50 KB
_NO_END: Final = 2**31 - 1
PART: Final[TypeAdapter[StoredPart]] = TypeAdapter(StoredPart)


class Ran(Value):
    """When a call was claimed and when it was settled, as far as it was."""

    claimed: datetime | None
    settled: datetime | None


class Told(Value):
    """A message with what else is stored of it: the number of its turn and when that was opened, agent and model of a
    prompt's turn, the ids of an answer's texts, and when its calls ran."""

    message: Message
    number: int
    opened: datetime
    agent: str = ""
    model: str = ""
    texts: tuple[PartId, ...] = ()
    ran: dict[PartId, Ran] = {}


class _Place(NamedTuple):
    """Where a step stands in its session."""

    number: int
    step: int


async def read(reads: Reads, session: SessionId) -> Transcript:
    """All taken prompts and committed answers, in the order in which the model saw or gave them."""
    prompts, answers, parts, calls = await asyncio.gather(
        reads.rows(_QUERIES.prompts, session=session),
        reads.rows(_QUERIES.messages, session=session),
        reads.rows(_QUERIES.parts, session=session),
        reads.rows(_CALLS.shown, session=session),
    )
    return tuple(_in_order(prompts, answers, parts, calls))


async def read_from(reads: Reads, session: SessionId, turn: TurnId, step: int) -> Transcript:
    """The answer of a step and what came behind it; nothing where there is no such turn."""
    place = {"session": session, "turn": turn, "step": step}
    prompts, answers, parts, calls = await asyncio.gather(
        reads.rows(_PAGES.prompts_from, **place),
        reads.rows(_PAGES.answers_from, **place),
        reads.rows(_PAGES.parts_from, **place),
        reads.rows(_PAGES.calls_from, **place),
    )
    return tuple(_in_order(prompts, answers, parts, calls))


async def pages(reads: Reads, session: SessionId) -> AsyncIterator[Told]:
    """The same, some answers at a time: however long the session is, little of it is held."""
    last = _Place(0, 0)
    while True:
        answers = await reads.rows(_PAGES.answers, session=session, limit=_PAGE, **last._asdict())
        full = len(answers) == _PAGE
        end = _Place(answers[-1]["number"], answers[-1]["step"]) if full else _Place(_NO_END, _NO_END)
        messages = [row["id"] for row in answers]
        prompts, parts, calls = await asyncio.gather(
            reads.rows(_PAGES.prompts, session=session, **last._asdict(), last_number=end.number, last_step=end.step),
            reads.rows(_PAGES.parts, messages=messages),
            reads.rows(_PAGES.calls, messages=messages),
        )
        told = _Told(prompts, answers, parts, calls)
        for message in _in_order(prompts, answers, parts, calls):
            yield told.about(message)
        if not full:
            return
        last = end


class _Told:
    """What rows say beside their messages."""

    def __init__(self, prompts: Rows, answers: Rows, parts: Rows, calls: Rows) -> None:
        self._rows = {row["id"]: row for row in (*prompts, *answers)}
        self._texts = _by_message(parts)
        self._calls = _by_message(calls)

    def about(self, message: Message) -> Told:
        row = self._rows[message.id]
        turn = {"number": row["number"], "opened": row["opened_at"]}
        if isinstance(message, UserMessage):
            return Told(message=message, **turn, agent=row["agent"], model=row["model"])
        calls = self._calls[message.id]
        return Told(
            message=message,
            **turn,
            texts=tuple(row["id"] for row in self._texts[message.id]),
            ran={row["id"]: Ran(claimed=row["claimed_at"], settled=row["settled_at"]) for row in calls},
        )


def _by_message(rows: Rows) -> dict[str, Rows]:
    """The rows of each message, in the order of its parts."""
    found: dict[str, Rows] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row["position"]):
        found[row["message"]].append(row)
    return found


def _in_order(prompts: Rows, answers: Rows, parts: Rows, calls: Rows) -> Iterator[Message]:
    """The messages of these rows, each with its parts."""
    by_message: dict[str, list[tuple[int, Part]]] = defaultdict(list)
    for row in parts:
        by_message[row["message"]].append((row["position"], PART.validate_python(row["body"])))
    for row in calls:
        by_message[row["message"]].append((row["position"], tool_part(row)))
    placed = [((row["number"], row["step"], 0, row["taken"]), _user(row)) for row in prompts]
    placed += [((row["number"], row["step"], 1, 0), _answer(row, by_message)) for row in answers]
    for _, message in sorted(placed, key=lambda entry: entry[0]):
        yield message


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
