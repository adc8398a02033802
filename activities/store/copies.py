"""Copies of turns and messages: rows with new ids, and the events that explain them. Nothing in them runs again."""

from datetime import datetime
from typing import Any, Final, Literal

from psycopg.types.json import Json
from pydantic import JsonValue

from activities.store.database import dumps
from activities.store.journal import Journal, seal
from activities.store.queries import Queries
from activities.store.statements import RowReader
from workflows.domain.events.copies import MessageCopied
from workflows.domain.events.generations import PartSeal
from workflows.domain.events.prompts import PromptShortened
from workflows.domain.generation import Purpose
from workflows.domain.ids import GenerationId, MessageId, PartId, SessionId, TurnConfigId, TurnId, answer_id
from workflows.domain.messages import AnswerMetadata, CallState, Outcome, Reminder, StoredPart
from workflows.domain.prompt import PromptContent
from workflows.domain.value import Value

_QUERIES: Final = Queries("copies")
_GENERATIONS: Final = Queries("generations")


class CopiedTurn(Value):
    id: TurnId
    number: int
    turn_config: TurnConfigId
    agent: str
    model: str
    variant: str | None
    step: int
    reason: str
    error: str | None
    opened_at: datetime
    ended_at: datetime


class CopiedPrompt(Value):
    """`origin`: the message that it copies; `agent`, `model` and `variant` as it names them."""

    id: MessageId
    origin: str
    turn: TurnId
    step: int
    author: str
    mode: str = "steer"
    content: PromptContent
    agent: str | None = None
    model: str | None = None
    variant: str | None = None
    shown: int | None = None
    at: datetime


class CopiedPart(Value):
    id: PartId
    position: int
    body: StoredPart


class CopiedCall(Value):
    """Settled."""

    id: PartId
    position: int
    provider_id: str
    tool: str
    arguments: dict[str, JsonValue]
    display: dict[str, JsonValue] = {}
    state: CallState
    outcome: Outcome
    claimed_at: datetime | None = None
    settled_at: datetime | None = None


class CopiedAnswer(Value):
    """The answer of a turn's step, or with `newest` a summary of all up to it, made when that was the newest answer."""

    generation: GenerationId
    origin: str
    turn: TurnId
    step: int
    newest: MessageId | None = None
    body: AnswerMetadata
    parts: tuple[CopiedPart, ...] = ()
    calls: tuple[CopiedCall, ...] = ()
    reminders: tuple[Reminder, ...] = ()
    at: datetime

    @property
    def message(self) -> MessageId:
        return answer_id(self.generation)


class SummaryRow(Value):
    """A summary, and what it stands for."""

    generation: GenerationId
    turn: TurnId
    step: int
    newest: MessageId
    id: MessageId
    body: AnswerMetadata
    created_at: datetime


async def turns(reader: RowReader, session: SessionId) -> dict[TurnId, dict[str, Any]]:
    return {row["id"]: row for row in await reader.rows(_QUERIES.turns, session=session)}


async def prompts(reader: RowReader, session: SessionId) -> dict[MessageId, dict[str, Any]]:
    """Mode, author, and what each taken prompt names for its turn."""
    return {row.pop("id"): row for row in await reader.rows(_QUERIES.prompts, session=session)}


async def displays(reader: RowReader, message: MessageId) -> dict[PartId, dict[str, JsonValue]]:
    return {row["id"]: row["display"] for row in await reader.rows(_QUERIES.displays, messages=[message])}


async def reminders(reader: RowReader, session: SessionId) -> dict[GenerationId, list[JsonValue]]:
    return {row["id"]: row["reminders"] for row in await reader.rows(_QUERIES.reminders, session=session)}


async def summaries(reader: RowReader, session: SessionId) -> list[SummaryRow]:
    """The oldest first."""
    return [SummaryRow(**row) for row in await reader.rows(_QUERIES.summaries, session=session)]


async def parts(reader: RowReader, message: MessageId) -> list[dict[str, Any]]:
    """Positions and bodies."""
    return await reader.rows(_QUERIES.parts, message=message)


async def count(reader: RowReader, session: SessionId) -> int:
    """Messages that the session has copied."""
    (row,) = await reader.rows(_QUERIES.count, session=session)
    return int(row["copied"])


def write_turn(journal: Journal, turn: CopiedTurn) -> None:
    journal.write(_QUERIES.insert_turn, session=journal.session, **turn.model_dump())


def write_prompt(journal: Journal, prompt: CopiedPrompt) -> None:
    body = seal(prompt.content.model_dump(exclude_none=True))
    copied = PartSeal(part=PartId(prompt.id), kind="prompt", seal=body.seal)
    seq = _record(journal, prompt.id, "user", prompt, [copied])
    row = prompt.model_dump(exclude={"content", "origin"})
    journal.write(_QUERIES.insert_prompt, session=journal.session, seq=seq, body=body.content, salt=body.salt, **row)
    if prompt.shown is not None:
        journal.record(PromptShortened(prompt=prompt.id, turn=prompt.turn, shown=prompt.shown))


def write_answer(journal: Journal, answer: CopiedAnswer) -> None:
    """Its turn is there already; of a summary, the answers that it stands for."""
    copied: list[PartSeal] = []
    reminded = seal([each.model_dump(mode="json") for each in answer.reminders]) if answer.reminders else None
    if reminded is not None:
        copied.append(PartSeal(part=PartId(f"{answer.generation}/reminders"), kind="reminders", seal=reminded.seal))
    is_step = answer.newest is None
    journal.write(
        _QUERIES.insert_answer,
        id=answer.message,
        session=journal.session,
        generation=answer.generation,
        purpose=Purpose.STEP if is_step else Purpose.COMPACTION,
        turn=answer.turn if is_step else None,
        step=answer.step if is_step else None,
        reminders=reminded and reminded.content,
        reminders_salt=reminded and reminded.salt,
        reminders_seal=reminded and reminded.seal,
        body=dumps(answer.body.model_dump(mode="json")),
        at=answer.at,
    )
    copied += [_write_part(journal, answer.message, part) for part in answer.parts]
    for call in answer.calls:
        copied += _write_call(journal, answer, call)
    if answer.newest is not None:
        stands_for = answer.model_dump(include={"generation", "turn", "step", "newest"})
        journal.write(_QUERIES.insert_compaction, session=journal.session, **stands_for)
    _record(journal, answer.message, "assistant" if is_step else "summary", answer, copied)


def _record(
    journal: Journal,
    message: MessageId,
    role: Literal["user", "assistant", "summary"],
    copy: CopiedPrompt | CopiedAnswer,
    contents: list[PartSeal],
) -> int:
    named = copy.model_dump(include={"origin", "turn", "step"})
    return journal.record(MessageCopied(message=message, role=role, contents=tuple(contents), **named))


def _write_part(journal: Journal, message: MessageId, part: CopiedPart) -> PartSeal:
    body = seal(part.body.model_dump(mode="json"))
    row = {"id": part.id, "message": message, "position": part.position}
    journal.write(_GENERATIONS.insert_part, **row, body=body.content, salt=body.salt)
    return PartSeal(part=part.id, kind=part.body.type, seal=body.seal)


def _write_call(journal: Journal, answer: CopiedAnswer, call: CopiedCall) -> list[PartSeal]:
    arguments, outcome = seal(call.arguments), seal(call.outcome.model_dump(mode="json"))
    row = call.model_dump(include={"id", "position", "provider_id", "tool", "state", "claimed_at", "settled_at"})
    journal.write(
        _QUERIES.insert_call,
        session=journal.session,
        turn=answer.turn,
        step=answer.step,
        message=answer.message,
        arguments=arguments.content,
        salt=arguments.salt,
        display=Json(call.display),
        outcome=outcome.content,
        outcome_salt=outcome.salt,
        **row,
    )
    return [
        PartSeal(part=call.id, kind="call", seal=arguments.seal),
        PartSeal(part=PartId(f"{call.id}/outcome"), kind="outcome", seal=outcome.seal),
    ]
