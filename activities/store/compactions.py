"""Compactions: summaries that stand for the beginning of a session's context, and what else was tried to shorten it."""

import asyncio
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from activities.new_ids import new_id
from activities.store import compaction_requests
from activities.store.attempts import RequestForm
from activities.store.journal import Journal
from activities.store.queries import Queries
from activities.store.statements import RowReader
from activities.store.transcript import PART, REMINDERS
from workflows.domain.events.generations import CompactionFailed, ContextCompacted
from workflows.domain.events.prompts import PromptShortened
from workflows.domain.ids import GenerationId, MessageId, NoteId, Prefix, SessionId, TurnId
from workflows.domain.messages import ReminderName
from workflows.domain.value import Value
from workflows.domain.views.messages import SummaryDetails, SummaryPart

_QUERIES: Final = Queries("compactions")
_GROWTH: Final = 8  # a context that has grown by this part (1/8) counts as another one


class CompactionRow(Value):
    """A summary: it replaces all up to and including the answer of this turn's step. `newest`: the newest answer then;
    `media`: whether models still see the pictures and documents up to it; `words`: how many characters of prompts."""

    generation: GenerationId
    turn: TurnId
    step: int
    newest: MessageId
    media: bool = True
    words: int = 0


class CompactionOutcome(StrEnum):
    COMPACTED = "compacted"
    SHORTENED = "shortened"  # prompts, not the conversation
    FAILED = "failed"


class CompactionTry(Value):
    """The step of a turn that waits for a shorter context, the turn's model, and the context's tokens then."""

    turn: TurnId
    step: int
    model: str
    tokens: int


class CompactionTryRow(CompactionTry):
    """`final`: another try would fail as well. `reason`: why it failed, for people."""

    generation: GenerationId
    outcome: CompactionOutcome
    final: bool
    reason: str | None = None

    def holds_for(self, model: str, tokens: int) -> bool:
        """Whether compaction has failed for a context of about this size, with this model."""
        return (
            self.outcome is CompactionOutcome.FAILED
            and self.model == model
            and tokens * _GROWTH < self.tokens * (_GROWTH + 1)
        )


class NewCompaction(Value):
    """What a summary stands for, as in `CompactionRow`, and the earlier one that it `replaces`. `after` as in
    `ContextCompacted`."""

    tried: CompactionTry
    turn: TurnId
    step: int
    newest: MessageId
    media: bool = True
    words: int = 0
    replaces: GenerationId | None = None
    after: int


class ShownPrompt(Value):
    """What models read of a prompt: `shown` and `without_files` as in `UserMessage`."""

    shown: int | None = None
    without_files: bool = False


class NewFailure(Value):
    """Why there is no summary, for people; `final` as in `CompactionTryRow`."""

    tried: CompactionTry
    reason: str
    final: bool = False


def store(journal: Journal, generation: GenerationId, new: NewCompaction, cost: str | None) -> None:
    """Store a compaction in the summary's transaction: an interruption leaves the old context or the new one.

    The waiting step's request begins anew: its reminders go, and its answer's id will be younger than the summary's.
    """
    mark = new.model_dump(include={"turn", "step", "newest", "media", "words"})
    journal.write(_QUERIES.insert, generation=generation, session=journal.session, **mark)
    _insert_try(journal, generation, new.tried, CompactionOutcome.COMPACTED)
    compaction_requests.finish(journal, new.tried.turn)
    journal.write(_QUERIES.renew_step, id=new_id(Prefix.GENERATION), turn=new.tried.turn, step=new.tried.step)
    journal.record(
        ContextCompacted(
            generation=generation,
            turn=new.turn,
            step=new.step,
            newest=new.newest,
            media=new.media,
            before=new.tried.tokens,
            after=new.after,
            cost=cost,
        )
    )


def store_failure(journal: Journal, generation: GenerationId, new: NewFailure) -> None:
    _insert_try(journal, generation, new.tried, CompactionOutcome.FAILED, final=new.final)
    compaction_requests.finish(journal, new.tried.turn)
    note = NoteId(f"{generation}/failed")
    words = journal.store_note(note, new.reason)
    journal.record(
        CompactionFailed(
            generation=generation, turn=new.tried.turn, step=new.tried.step, final=new.final, note=note, seal=words
        )
    )


def shorten_prompts(
    journal: Journal, generation: GenerationId, tried: CompactionTry, shown: Mapping[MessageId, ShownPrompt]
) -> None:
    """Record how much models read of these prompts from now on."""
    _insert_try(journal, generation, tried, CompactionOutcome.SHORTENED)
    for prompt, state in shown.items():
        journal.write(_QUERIES.shorten_prompt, prompt=prompt, **state.model_dump())
        journal.record(PromptShortened(prompt=prompt, turn=tried.turn, **state.model_dump()))


async def newest(reader: RowReader, session: SessionId) -> CompactionRow | None:
    rows = await reader.rows(_QUERIES.newest, session=session)
    return CompactionRow(**rows[0]) if rows else None


async def of_generation(reader: RowReader, generation: GenerationId) -> CompactionRow | None:
    rows = await reader.rows(_QUERIES.of_generation, generation=generation)
    return CompactionRow(**rows[0]) if rows else None


async def newest_try(reader: RowReader, session: SessionId) -> CompactionTryRow | None:
    rows = await reader.rows(_QUERIES.newest_try, session=session)
    return CompactionTryRow(**rows[0]) if rows else None


async def tries_of_step(reader: RowReader, turn: TurnId, step: int) -> list[CompactionTryRow]:
    return [CompactionTryRow(**row) for row in await reader.rows(_QUERIES.tries_of_step, turn=turn, step=step)]


async def paused(reader: RowReader, turn: TurnId) -> GenerationId | None:
    """The request for a summary that waits out its provider's pause, or has waited it out."""
    rows = await reader.rows(_QUERIES.paused, turn=turn)
    return GenerationId(rows[0]["id"]) if rows else None


async def find_try(reader: RowReader, generation: GenerationId) -> CompactionTryRow | None:
    rows = await reader.rows(_QUERIES.find_try, generation=generation)
    return CompactionTryRow(**rows[0]) if rows else None


def _insert_try(
    journal: Journal,
    generation: GenerationId,
    tried: CompactionTry,
    outcome: CompactionOutcome,
    *,
    final: bool = False,
) -> None:
    journal.write(
        _QUERIES.insert_try,
        generation=generation,
        session=journal.session,
        outcome=outcome,
        final=final,
        **tried.model_dump(),
    )


async def summaries(reader: RowReader, session: SessionId) -> list[SummaryDetails]:
    """A session's summaries, the oldest first."""
    rows, parts = await asyncio.gather(
        reader.rows(_QUERIES.answers, session=session), reader.rows(_QUERIES.parts, session=session)
    )
    return [_summary(row, [part for part in parts if part["message"] == row["id"]]) for row in rows]


def _summary(row: dict[str, Any], parts: list[dict[str, Any]]) -> SummaryDetails:
    reminders, form = REMINDERS.validate_python(row.pop("reminders") or ()), row.pop("form")
    made = RequestForm.model_validate(form).compaction if form is not None else None
    return SummaryDetails(
        **row,
        asked=made is not None and bool(made.requests),
        parts=tuple(SummaryPart(id=part["id"], body=PART.validate_python(part["body"])) for part in parts),
        go_on=next((each.text for each in reminders if each.name is ReminderName.CONTINUE), None),
    )
