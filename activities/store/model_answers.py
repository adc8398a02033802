"""Models' answers: written with their parts and calls, and read again."""

import asyncio
from collections.abc import Iterable
from decimal import Decimal
from itertools import takewhile
from typing import Any, Final, NamedTuple

from activities.store import asides, calls, compactions, deltas, grants, prompts, reservations, transcript
from activities.store.calls import CallRow
from activities.store.compactions import NewCompaction, NewFailure
from activities.store.database import dumps
from activities.store.journal import Journal, seal
from activities.store.queries import Queries
from activities.store.statements import RowReader
from workflows.domain.answer_text import texts_of
from workflows.domain.budgets import Usage
from workflows.domain.events.generations import MessageCompleted, PartSeal
from workflows.domain.generation import Generation, Purpose
from workflows.domain.ids import GenerationId, MessageId, TurnId, answer_id
from workflows.domain.messages import FINISH_LENGTH, FINISH_PAUSE, AnswerMetadata, NewPart, StoredPart
from workflows.domain.permissions.grants import Grant
from workflows.domain.turn_state import MAX_CONTINUATIONS, MAX_PAUSES
from workflows.domain.value import Value

_QUERIES: Final = Queries("model_answers")


class NewAnswer(Value):
    """A complete answer to commit; only a step's has calls. `reminders_seal` as in `MessageCompleted`. `compaction`:
    what becomes of the context by it, or why nothing does. `title`: what a title's answer names the session.
    `estimated`: what it has used of a budget, if its provider did not count it, or its cost is unknown. `resolved`: the
    prompts whose files its calls read, and the subagents that they mention."""

    body: AnswerMetadata
    reminders_seal: str | None = None
    parts: tuple[NewPart, ...] = ()
    calls: tuple[CallRow, ...] = ()
    compaction: NewCompaction | NewFailure | None = None
    title: str | None = None
    estimated: Usage | None = None
    resolved: dict[MessageId, tuple[str, ...]] = {}

    @property
    def text(self) -> str:
        """The answer's text without its reasoning."""
        return _text(part.body for part in self.parts)


class StoredAnswer(Value):
    """An answer as stored, with its calls and the live grants."""

    body: AnswerMetadata
    text: str
    calls: tuple[CallRow, ...] = ()
    live: tuple[Grant, ...] = ()

    @property
    def has_text(self) -> bool:
        return bool(self.text.strip())

    @property
    def is_cut(self) -> bool:
        """Whether the answer was cut within its text."""
        return self.body.is_cut and self.has_text and not self.calls


async def read(journal: Journal, generation: Generation, body: AnswerMetadata) -> StoredAnswer:
    """`body`: of the answer's message."""
    text, rows, live = await asyncio.gather(
        read_text(journal, generation.id),
        calls.of_step(journal, generation.turn, generation.step),
        grants.list_live(journal),
    )
    return StoredAnswer(body=body, text=text, calls=tuple(rows), live=live)


async def read_text(reader: RowReader, generation: GenerationId) -> str:
    """The text of a stored answer, without its reasoning."""
    # Not in SQL: PostgreSQL cannot read the text of a body with NUL or a lone surrogate.
    rows = await reader.rows(_QUERIES.bodies, message=answer_id(generation))
    return _text(transcript.PART.validate_python(row["body"]) for row in rows)


class UnfinishedAnswers(NamedTuple):
    """How many answers in a row the output limit has cut, whether it has cut the newest one in a call, and how many in
    a row the provider has paused in."""

    cuts: int
    in_call: bool
    pauses: int


async def unfinished_before(reader: RowReader, turn: TurnId, step: int, tool: str) -> UnfinishedAnswers:
    """Those directly before this step. `tool` stands for a call that was cut."""
    limit = max(MAX_CONTINUATIONS, MAX_PAUSES)
    rows = await reader.rows(_QUERIES.before, turn=turn, step=step, tool=tool, limit=limit)
    cut, paused = list(takewhile(_was_cut, rows)), list(takewhile(_was_paused, rows))
    return UnfinishedAnswers(min(len(cut), MAX_CONTINUATIONS), bool(cut) and cut[0]["called"], len(paused))


def _was_cut(row: dict[str, Any]) -> bool:
    body = AnswerMetadata.model_validate(row["body"])
    return body.finish == FINISH_LENGTH and bool(row["has_tool"] if row["called"] else body.is_cut)


def _was_paused(row: dict[str, Any]) -> bool:
    return bool(row["body"]["finish"] == FINISH_PAUSE and not row["called"])


def store(journal: Journal, generation: Generation, new: NewAnswer, live: tuple[Grant, ...] = ()) -> StoredAnswer:
    message, body = generation.message, new.body
    named = generation.model_dump(include={"turn", "step"}) | {"generation": generation.id}
    journal.write(_QUERIES.insert_message, id=message, session=journal.session, **named, **body_columns(body))
    seals = [store_part(journal, message, part) for part in new.parts]
    journal.record(
        MessageCompleted(
            **named,
            purpose=generation.purpose,
            message=message,
            finish=body.finish,
            tokens=body.tokens,
            cost=body.cost,
            parts=tuple(seals),
            reminders_seal=new.reminders_seal,
        )
    )
    for call in new.calls:
        calls.prepare(journal, call)
    for prompt, mentions in new.resolved.items():
        prompts.resolve(journal, prompt, mentions)
    match new.compaction:
        case NewCompaction():
            compactions.store(journal, generation.id, new.compaction, body.cost)
        case NewFailure():
            compactions.store_failure(journal, generation.id, new.compaction)
    if generation.purpose is Purpose.TITLE:
        asides.settle_title(journal, generation.id, new.title)
    deltas.delete(journal, message)
    reservations.settle(journal, generation, body, new.estimated)  # last: its locks are the last ones
    return StoredAnswer(body=body, text=new.text, calls=new.calls, live=live)


def body_columns(body: AnswerMetadata) -> dict[str, Any]:
    """An answer's body, and what SQL has to know of it."""
    cost = None if body.cost is None else Decimal(body.cost)
    named = body.model_dump(include={"agent", "model"}) | body.tokens.model_dump()
    return {"body": dumps(body.model_dump(mode="json")), "cost": cost, **named}


def store_part(journal: Journal, message: MessageId, part: NewPart) -> PartSeal:
    body = seal(part.body.model_dump(mode="json"))
    journal.write(
        _QUERIES.insert_part,
        id=part.id,
        message=message,
        position=part.position,
        kind=part.body.type,
        body=body.content,
        salt=body.salt,
    )
    return PartSeal(part=part.id, kind=part.body.type, seal=body.seal)


def _text(parts: Iterable[StoredPart]) -> str:
    return "".join(texts_of(parts))
