"""Generations: requests for models' answers, each answered once by the registered attempt."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final

from activities.store import asides, compactions, deltas, grants, model_answers, model_limits, turns
from activities.store.compactions import NewCompaction, NewFailure
from activities.store.database import Database, dumps
from activities.store.journal import Journal, seal
from activities.store.model_answers import NewAnswer, StoredAnswer
from activities.store.queries import Queries
from activities.store.turns import TurnStatus
from workflows.domain.errors import StaleFence
from workflows.domain.events.generations import ModelRetry, PauseEnded
from workflows.domain.fence import Fence
from workflows.domain.generation import Generation
from workflows.domain.ids import GenerationId, NoteId, TurnId
from workflows.domain.messages import AnswerMetadata, Reminder
from workflows.domain.provider_failure import FinalFailure
from workflows.domain.value import Value
from workflows.domain.wake_signal import WakeKind

_QUERIES: Final = Queries("generations")


class GenerationStatus(Value):
    """A generation and its newest attempt. `pause`: seconds left, by the database's clock, until the provider may be
    asked again. `thoughtless`: the model has refused its earlier thoughts. `limited`: its model was refused as over a
    limit. `reminders_seal` as in `MessageCompleted`."""

    id: GenerationId | None = None
    turn_status: TurnStatus | None = None
    fence: Fence | None = None
    failures: int = 0
    waited_ms: int = 0
    thoughtless: bool = False
    pause: float | None = None
    limited: bool = False
    reminders_seal: str | None = None
    answer: AnswerMetadata | None = None

    @property
    def ended(self) -> bool:
        return self.turn_status is not None and self.turn_status.state != "open"

    @property
    def over(self) -> bool:
        """Whether its turn has ended or is being stopped."""
        return self.turn_status is not None and self.turn_status.over

    def refuse_older(self, fence: Fence) -> None:
        """Raise StaleFence if it is too late to register."""
        if not fence.may_take(self.fence):
            raise StaleFence(f"A later attempt {self.fence} has registered for {self.id!r}.")

    def refuse_other(self, fence: Fence) -> None:
        """Raise StaleFence unless this attempt is registered."""
        if self.fence != fence:
            raise StaleFence(f"Attempt {self.fence} has registered for {self.id!r}, not {fence}.")


class TurnOver(Value):
    """The turn or session has ended or is being stopped: nothing may begin."""


class Suspended(Value):
    """Nothing begins or is taken over until a person resumes the session."""


class BackoffPending(Value):
    """The provider has failed: do not ask it for `seconds`."""

    seconds: float
    failures: int


async def begin(
    journal: Journal, generation: Generation, fence: Fence
) -> StoredAnswer | TurnOver | Suspended | BackoffPending | GenerationStatus:
    """Register an attempt before asking the model; returns the status before it. Changes nothing during a pause, and
    begins one for a rate limit of the model that others have met. Raises StaleFence for a lower attempt."""
    found = await status(journal, generation)
    registered = generation.model_copy(update={"id": found.id or generation.id})
    if found.answer is not None:
        return await model_answers.read(journal, registered, found.answer)
    if found.over or journal.ended:
        return TurnOver()
    found.refuse_older(fence)
    if journal.suspension is not None:
        return Suspended()
    if found.pause is not None and found.pause > 0:
        return BackoffPending(seconds=found.pause, failures=found.failures)
    journal.write(_QUERIES.register, **registered.model_dump(), session=journal.session, fence=list(fence))
    if generation.turn is not None and generation.step is not None:
        turns.record_step(journal, generation.turn, generation.step)
    if found.limited and found.turn_status is not None:
        model, failures = found.turn_status.model, found.failures
        pause = await model_limits.admit(journal, registered, fence, model, failures)
        if pause is not None:
            return BackoffPending(seconds=pause, failures=failures)
    return found.model_copy(update={"id": registered.id})


def remind(journal: Journal, generation: GenerationId, reminders: Iterable[Reminder]) -> str:
    """Record what the first request of a generation tells the model besides prompts and results. Returns the seal."""
    rows = seal([reminder.model_dump(mode="json") for reminder in reminders])
    journal.write(_QUERIES.remind, generation=generation, reminders=rows.content, salt=rows.salt, seal=rows.seal)
    return rows.seal


def renew(journal: Journal, generation: Generation, id: GenerationId) -> Generation:
    """Give a generation without an answer another id; what watchers have seen of an earlier attempt is gone."""
    journal.write(_QUERIES.renew, generation=generation.id, id=id)
    deltas.delete(journal, generation.message)
    return generation.model_copy(update={"id": id})


async def step_status(journal: Journal, turn: TurnId, step: int) -> GenerationStatus:
    """Raises StaleFence for a turn of another session."""
    row = await journal.row(_QUERIES.step_status, turn=turn, step=step, session=journal.session)
    if row is None:
        raise StaleFence(f"Session {journal.session!r} has no turn {turn!r}.")
    return _status_of_row(row, turns.status_of_row(row))


async def status(journal: Journal, generation: Generation) -> GenerationStatus:
    if generation.turn is not None and generation.step is not None:
        return await step_status(journal, generation.turn, generation.step)
    row = await journal.row(_QUERIES.status, generation=generation.id, session=journal.session)
    return _status_of_row(row) if row else GenerationStatus()


def _status_of_row(row: dict[str, Any], turn_status: TurnStatus | None = None) -> GenerationStatus:
    if row["id"] is None:
        return GenerationStatus(turn_status=turn_status, limited=row["limited"])
    known = {name: row[name] for name in GenerationStatus.model_fields if name not in ("turn_status", "fence")}
    return GenerationStatus(**known, fence=Fence(*row["fence"]), turn_status=turn_status)


async def commit(journal: Journal, generation: Generation, fence: Fence, new: NewAnswer) -> StoredAnswer | TurnOver:
    """Store the answer with its parts and calls, once, by the registered attempt. Raises StaleFence."""
    found, live = await asyncio.gather(status(journal, generation), grants.list_live(journal))
    if found.answer is not None:
        return await model_answers.read(journal, generation, found.answer)
    found.refuse_other(fence)
    if found.id != generation.id:  # an attempt that has been lost, though it goes on
        raise StaleFence(f"The context of {generation.id!r} was summed up meanwhile: its step is {found.id!r} now.")
    if found.ended or journal.ended:
        return TurnOver()
    if new.compaction is not None and await _comes_late(journal, new.compaction):
        new = new.model_copy(update={"compaction": None})
    if new.title is not None and await asides.requested_for(journal, generation.id) is None:  # another came first
        new = new.model_copy(update={"title": None})
    return model_answers.store(journal, generation, new, live)


async def _comes_late(journal: Journal, new: NewCompaction | NewFailure) -> bool:
    """Whether its turn has ended, or another summary has come since: then it only counts as paid."""
    turn, newest = await asyncio.gather(
        turns.turn_status(journal, new.tried.turn), compactions.newest(journal, journal.session)
    )
    replaced = isinstance(new, NewCompaction) and (newest and newest.generation) != new.replaces
    return turn.state != "open" or replaced


def commit_as_seen(
    journal: Journal, generation: Generation, fence: Fence, new: NewAnswer
) -> Callable[[], StoredAnswer]:
    """Commit in a session unchanged since this attempt registered; call the result after the transaction.

    Fails with VersionConflict if a later attempt has registered, which leaves no event.
    """
    journal.write(_QUERIES.hold, generation=generation.id, fence=list(fence))
    stored, live_later = model_answers.store(journal, generation, new), grants.live_later(journal)
    return lambda: stored.model_copy(update={"live": live_later()})


class FailedAttempt(Value):
    """A provider's failure: its number in the generation, `kind` (an HTTP status, or "network") and message.

    `pause`: seconds until the next request; `next_at`: when, by our clock. `waited_ms`: taken from the retry budget.
    `thoughtless`: the model is asked again without its earlier thoughts.
    """

    attempt: int
    kind: str
    message: str
    pause: float
    waited_ms: int
    next_at: str
    thoughtless: bool = False


async def record_failure(journal: Journal, generation: Generation, fence: Fence, failure: FailedAttempt) -> None:
    """Record a failure once, unless the turn is over. Raises StaleFence when another attempt has registered."""
    found = await status(journal, generation)
    found.refuse_other(fence)
    if found.over or found.failures >= failure.attempt:
        return
    columns = failure.model_dump(include={"waited_ms", "kind", "pause", "thoughtless"})
    journal.write(_QUERIES.record_failure, generation=generation.id, **columns)
    if found.turn_status is not None:
        model_limits.note_failure(journal, found.turn_status.model, failure.kind, failure.pause)
    note = NoteId(f"{generation.id}/{failure.attempt}")
    words = journal.store_note(note, failure.message)
    fields = generation.model_dump(exclude={"id"}) | failure.model_dump(include={"attempt", "kind", "next_at"})
    journal.record(ModelRetry(generation=generation.id, note=note, seal=words, **fields))


async def record_final_failure(journal: Journal, generation: Generation, fence: Fence, failure: FinalFailure) -> None:
    """Record, until the next attempt, how a provider has failed. Raises StaleFence when another one has registered."""
    (await status(journal, generation)).refuse_other(fence)
    journal.write(_QUERIES.record_final_failure, generation=generation.id, failure=dumps(failure.model_dump()))


async def end_pauses(journal: Journal) -> bool:
    """Let the provider be asked again at once; False if nothing waits for one."""
    await journal.locked()
    found = await journal.rows(_QUERIES.end_pauses, session=journal.session)
    for row in found:
        journal.record(PauseEnded(generation=row["id"]))
    if found:
        journal.notify(WakeKind.REFRESH, found[0]["id"])
    return bool(found)


async def provider_has_answered(database: Database, provider: str) -> bool:
    return bool(await database.rows(_QUERIES.provider_has_answered, begun=f"{provider}/"))
