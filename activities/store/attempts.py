"""Attempts at generations: what each asks a model, as a digest, and what the request can be built from again.

The row is written before the request is sent; an attempt may end in between. It holds no contents.
"""

from datetime import datetime
from typing import Final, Literal

from activities.store.database import dumps
from activities.store.events import parse_record
from activities.store.journal import Journal
from activities.store.queries import Queries
from activities.store.statements import RowReader
from activities.store.transcript import StepNumber
from workflows.domain.events.generations import BEHIND_LIMIT, ModelRetry
from workflows.domain.fence import Fence
from workflows.domain.generation import Purpose
from workflows.domain.ids import CompactionId, GenerationId, MessageId, PartId, SessionId, TurnConfigId, TurnId
from workflows.domain.messages import AnswerMetadata
from workflows.domain.sent_request import RequestChoice
from workflows.domain.value import WireValue
from workflows.domain.views.messages import StepFailure

_QUERIES: Final = Queries("attempts")


class CompactionForm(WireValue):
    """What the request for a summary is built from: the conversation up to and including the answer of this turn's
    step, in a request of `room` characters, and the wishes of people."""

    turn: TurnId
    step: int
    room: int
    requests: tuple[CompactionId, ...] = ()


class RequestForm(WireValue):
    """What shapes a request besides the rows that it is built from: the model's name and what it sees, the summary and
    the pruning then, and the process that built it. `thoughtless`: the newest answer whose thoughts were not sent.
    `turn`: whose configuration counts, if not the generation's. `prompts`: how many a title is asked for."""

    model: str
    images: bool = False
    documents: bool = False
    choice: Literal["none"] | None = None
    platform: str = ""
    release: str = ""
    summary: GenerationId | None = None
    pruned: PartId | None = None
    thoughtless: MessageId | None = None
    turn: TurnId | None = None
    compaction: CompactionForm | None = None
    prompts: int | None = None


class AttemptRow(WireValue):
    digest: bytes
    form: RequestForm
    begun_at: datetime


class AskedGeneration(WireValue):
    """A generation of a session, with its turn's number if it is a step's, and its answer if there is one. `copied`: of
    another session."""

    id: GenerationId
    purpose: Purpose
    turn: TurnId | None
    number: int | None
    step: int | None
    answer: AnswerMetadata | None
    copied: bool


class AskedTurn(WireValue):
    id: TurnId
    number: int
    turn_config: TurnConfigId
    instructed_by: MessageId | None


class UnansweredStep(WireValue):
    """`reason`: why its turn ended, if it has."""

    number: int
    step: int
    reason: str | None


def store(journal: Journal, generation: GenerationId, fence: Fence, digest: bytes, form: RequestForm) -> None:
    shaped = dumps(form.model_dump(mode="json", exclude_defaults=True))
    journal.write(_QUERIES.store, generation=generation, fence=list(fence), digest=digest, form=shaped)


def remove(journal: Journal, generation: GenerationId, fence: Fence) -> None:
    """Remove an attempt that sends nothing, because a budget holds it up: it may be tried any number of times."""
    journal.write(_QUERIES.remove, generation=generation, fence=list(fence))


async def find(reader: RowReader, session: SessionId, choice: RequestChoice) -> AskedGeneration | None:
    """The newest attempt of the chosen request."""
    rows = await reader.rows(_QUERIES.find, session=session, **choice.model_dump())
    return AskedGeneration(**rows[0]) if rows else None


async def of_generation(reader: RowReader, generation: GenerationId) -> list[AttemptRow]:
    """A generation's attempts, in order."""
    rows = await reader.rows(_QUERIES.of_generation, generation=generation)
    return [AttemptRow(**(row | {"digest": bytes(row["digest"])})) for row in rows]


async def turns(reader: RowReader, session: SessionId) -> dict[TurnId, AskedTurn]:
    rows = await reader.rows(_QUERIES.turns, session=session)
    return {row["id"]: AskedTurn(**row) for row in rows}


async def unanswered(
    reader: RowReader, session: SessionId, after: StepNumber, before: StepNumber
) -> list[UnansweredStep]:
    """The steps between two others whose answers were not stored."""
    ends = {"after_number": after.number, "after_step": after.step, **before._asdict()}
    return [UnansweredStep(**row) for row in await reader.rows(_QUERIES.unanswered, session=session, **ends)]


async def count_until(reader: RowReader, session: SessionId, last: StepNumber) -> int:
    """The prompts and answers up to and including the answer of a step."""
    (row,) = await reader.rows(_QUERIES.count_until, session=session, **last._asdict())
    return int(row["messages"])


async def failures(reader: RowReader, session: SessionId) -> list[StepFailure]:
    """A session's failed attempts, the oldest first."""
    records = [parse_record(bytes(row["canonical"])) for row in await reader.rows(_QUERIES.failures, session=session)]
    failed = [(record.at, record.event) for record in records if isinstance(record.event, ModelRetry)]
    ids = [event.note for _, event in failed]
    notes = {row["id"]: row["body"] for row in await reader.rows(_QUERIES.failure_messages, ids=ids)}
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
