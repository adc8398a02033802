"""Model steps: the attempt that may commit an answer, and the answer, stored once."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from activities.store import calls, notes, prompts, transcript, turns
from activities.store.calls import CallRow, NewCall
from activities.store.database import Database, dumps
from activities.store.journal import Journal, seal
from activities.store.queries import Queries
from activities.store.statements import RowReader
from activities.store.turns import TurnStatus
from workflows.domain.errors import StaleFence
from workflows.domain.events.generations import MessageCompleted, ModelRetry, PartSeal
from workflows.domain.ids import MessageId, NoteId, PartId, SessionId, TurnId
from workflows.domain.messages import AnswerMetadata, StoredPart, TextPart, Transcript
from workflows.domain.value import Value
from workflows.domain.wire import Fence

_QUERIES: Final = Queries("generations")
ReadTranscript: TypeAlias = Callable[[RowReader, SessionId], Awaitable[Transcript]]


class AlreadyStored(Value):
    """The answer is already committed and is used: the model is not asked again."""

    message: MessageId
    body: AnswerMetadata


class StepStatus(Value):
    """A step: its turn, the fence of the newest attempt (if any), its failures, its answer.

    `pause`: seconds left, by the database's clock, until the provider may be asked again.
    """

    turn: TurnId
    step: int
    turn_status: TurnStatus
    fence: tuple[int, ...] = ()
    failures: int = 0
    waited_ms: int = 0
    pause: float | None = None
    stored: AlreadyStored | None = None

    def refuse_older(self, fence: Fence) -> None:
        """Raise StaleFence for an attempt that is no longer the newest."""
        if self.fence > tuple(fence):
            raise StaleFence(f"A later attempt {self.fence} has registered for step {self.step} of turn {self.turn!r}.")


class StepAttempt(Value):
    """This attempt is the newest and may ask the model; with the failures before it, and the conversation."""

    turn_status: TurnStatus
    failures: int
    waited_ms: int
    transcript: Transcript


class TurnOver(Value):
    """The turn has ended or is being stopped: nothing may begin; closing the turn settles its calls."""


class Suspended(Value):
    """The session is suspended: nothing begins or is taken over until a person resumes it."""


class BackoffPending(Value):
    """The provider must not be asked for another `seconds`: it has failed."""

    seconds: float
    failures: int


class NewPart(Value):
    """A finished text or reasoning part of an answer."""

    id: PartId
    position: int
    body: StoredPart


class NewAnswer(Value):
    """A complete answer, ready to be committed."""

    id: MessageId
    body: AnswerMetadata
    parts: tuple[NewPart, ...] = ()
    calls: tuple[NewCall, ...] = ()

    @property
    def has_text(self) -> bool:
        return any(_is_text(part.body) for part in self.parts)


def _is_text(part: StoredPart) -> bool:
    return isinstance(part, TextPart) and bool(part.text.strip())


async def begin(
    journal: Journal, turn: TurnId, step: int, fence: Fence, read: ReadTranscript = transcript.read
) -> AlreadyStored | TurnOver | Suspended | BackoffPending | StepAttempt:
    """Register an attempt at a step and take the steered prompts, before the model is asked.

    Changes nothing before the end of a pause. Raises StaleFence when a higher attempt has registered.
    """
    found, steered, view = await asyncio.gather(
        step_status(journal, turn, step),
        prompts.steered(journal),
        read(journal, journal.session),
    )
    if found.stored is not None:
        return found.stored
    if found.turn_status.over or journal.ended:
        return TurnOver()
    found.refuse_older(fence)
    if journal.suspension is not None:
        return Suspended()
    if found.pause is not None and found.pause > 0:
        return BackoffPending(seconds=found.pause, failures=found.failures)
    journal.write(_QUERIES.register, turn=turn, step=step, fence=list(fence))
    turns.record_step(journal, turn, step)
    for prompt in steered:
        prompts.take(journal, prompt, turn, step)
    if steered:
        view = await read(journal, journal.session)
    return StepAttempt(
        turn_status=found.turn_status, failures=found.failures, waited_ms=found.waited_ms, transcript=view
    )


async def step_status(journal: Journal, turn: TurnId, step: int) -> StepStatus:
    """The step as it is now. Raises StaleFence for a turn of another session."""
    row = await journal.row(_QUERIES.step_status, turn=turn, step=step, session=journal.session)
    if row is None:
        raise StaleFence(f"Session {journal.session!r} has no turn {turn!r}.")
    stored = (
        AlreadyStored(message=row["message"], body=AnswerMetadata.model_validate(row["body"]))
        if row["message"]
        else None
    )
    registered = {name: row[name] for name in ("fence", "failures", "waited_ms", "pause")}
    return StepStatus(
        turn=turn,
        step=step,
        turn_status=turns.status_of_row(row),
        stored=stored,
        **(registered if row["fence"] else {}),
    )


async def has_text(journal: Journal, message: MessageId) -> bool:
    """Whether a stored answer has any text but blanks."""
    # Not in SQL: PostgreSQL cannot read the text of a body with NUL or a lone surrogate.
    rows = await journal.rows(_QUERIES.bodies, message=message)
    return any(_is_text(transcript.PART.validate_python(row["body"])) for row in rows)


async def commit(
    journal: Journal, turn: TurnId, step: int, fence: Fence, new: NewAnswer
) -> AlreadyStored | TurnOver | tuple[CallRow, ...]:
    """Store the answer with its parts and prepared calls, once; returns the calls' rows.

    Only for the newest registered attempt, in an open turn. Raises StaleFence.
    """
    found = await step_status(journal, turn, step)
    if found.stored is not None:
        return found.stored
    found.refuse_older(fence)
    if found.turn_status.state != "open" or journal.ended:
        return TurnOver()
    return _store_answer(journal, turn, step, new)


def commit_held(journal: Journal, turn: TurnId, step: int, fence: Fence, new: NewAnswer) -> tuple[CallRow, ...]:
    """The same in a session, and step, held since this attempt registered. Fails with Moved if a later one has.

    The step is held as well, as registering leaves no event.
    """
    journal.write(_QUERIES.hold, turn=turn, step=step, fence=list(fence))
    return _store_answer(journal, turn, step, new)


def _store_answer(journal: Journal, turn: TurnId, step: int, new: NewAnswer) -> tuple[CallRow, ...]:
    journal.write(
        _QUERIES.insert_message,
        id=new.id,
        session=journal.session,
        turn=turn,
        step=step,
        body=dumps(new.body.model_dump(mode="json")),
    )
    seals = [_store_part(journal, new.id, part) for part in new.parts]
    body = new.body
    journal.record(
        MessageCompleted(
            message=new.id,
            turn=turn,
            step=step,
            finish=body.finish,
            tokens=body.tokens,
            cost=body.cost,
            parts=tuple(seals),
        )
    )
    return tuple(calls.prepare(journal, turn, step, new.id, call) for call in new.calls)


class FailedAttempt(Value):
    """A provider's failure: its number in the step, its `kind` (an HTTP status, or "network") and message.

    `pause`: seconds until the next request; `next_at`: when, by our clock. `waited_ms`: what attempt and pause take of
    the retry budget.
    """

    attempt: int
    kind: str
    message: str
    pause: float
    waited_ms: int
    next_at: str


async def record_failure(journal: Journal, turn: TurnId, step: int, fence: Fence, failure: FailedAttempt) -> None:
    """Record a provider's failure and the pause after it, once; nothing in a turn that is over.

    Raises StaleFence when a higher attempt has registered.
    """
    found = await step_status(journal, turn, step)
    found.refuse_older(fence)
    if found.turn_status.over or found.failures >= failure.attempt:
        return
    columns = failure.model_dump(include={"waited_ms", "kind", "pause"})
    journal.write(_QUERIES.record_failure, turn=turn, step=step, **columns)
    note = NoteId(f"{turn}/{step}/{failure.attempt}")
    words = notes.store(journal, note, failure.message)
    fields = failure.model_dump(include={"attempt", "kind", "next_at"})
    journal.record(ModelRetry(turn=turn, step=step, note=note, seal=words, **fields))


async def provider_has_answered(database: Database, provider: str) -> bool:
    """Whether this provider has answered any session."""
    return bool(await database.rows(_QUERIES.provider_has_answered, begun=f"{provider}/"))


def _store_part(journal: Journal, message: MessageId, part: NewPart) -> PartSeal:
    body = seal(part.body.model_dump(mode="json"))
    journal.write(
        _QUERIES.insert_part, id=part.id, message=message, position=part.position, body=body.content, salt=body.salt
    )
    return PartSeal(part=part.id, kind=part.body.type, seal=body.seal)
