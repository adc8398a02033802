"""Attempts at generations, and when to try again."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Final

from temporalio.exceptions import ApplicationError

from activities.activity_fence import fence_of, log_refused_writes
from activities.error_boundary import storable_text
from activities.failpoints import failpoint
from activities.fault_limit import count_faults
from activities.heartbeat import heartbeats, last_progress
from activities.model.endpoints import ResolvedModel
from activities.model.failures import FailureAction, Overflow, Retry, Stop, classify, refuses_files, refuses_thoughts
from activities.model.port import ModelRequest
from activities.model.providers import split_model_id
from activities.model.request_digest import RequestDigester
from activities.model.retry_budget import (
    MAX_BROKEN_ANSWERS,
    MAX_CONNECT_ATTEMPTS,
    MAX_DOUBTFUL_ATTEMPTS,
    ProviderPause,
    RetryBudget,
    broken_answers_text,
    budget_spent_text,
    doubtful_text,
    refusal_text,
    unreachable_text,
)
from activities.model.stream import Answer
from activities.new_ids import new_id
from activities.redact import Redactor
from activities.store import attempts, deltas, faults, generations, model_limits, reservations
from activities.store.attempts import RequestForm
from activities.store.calls import PreparedCall
from activities.store.commit_retry import retry_while_unavailable
from activities.store.database import Database
from activities.store.generations import BackoffPending, FailedAttempt, GenerationStatus, Suspended, TurnOver
from activities.store.journal import WORKER, Journal, SessionVersion, session_journal, write_optimistically
from activities.store.model_answers import NewAnswer, StoredAnswer
from activities.store.turns import TurnStatus
from workflows.domain.budgets import Usage, produced, usage_of
from workflows.domain.errors import MissingKey, Unavailable, UsageError
from workflows.domain.fence import Fence
from workflows.domain.generation import Generation, Purpose
from workflows.domain.ids import GenerationId, MessageId, Prefix, is_id
from workflows.domain.provider_failure import FinalFailure, ProviderFailure
from workflows.domain.wire import Request

MODEL_FAILED: Final = "ModelFailed"
_LONGEST_BODY: Final = 10_000  # characters of a provider's response that are kept


class Attempts:
    """What a worker's attempts share; `release`: ours."""

    def __init__(self, database: Database, redactor: Redactor, retry_budget: RetryBudget, release: str = "") -> None:
        self.database = database
        self.redactor = redactor
        self.retry_budget = retry_budget
        self.release = release
        self.reached_addresses: set[tuple[str, str | None]] = set()  # providers and their addresses
        self.blind_models: set[tuple[str, str | None]] = set()  # models and their addresses

    def without_refused_files(self, model: ResolvedModel) -> ResolvedModel:
        """The model as one that sees no pictures and documents, if it has refused some."""
        if (model.name, model.endpoint.base_url) not in self.blind_models:
            return model
        return model.model_copy(update={"facts": model.facts.model_copy(update={"images": False, "documents": False})})

    def decide(self, model: ResolvedModel, failure: ProviderFailure, status: GenerationStatus) -> FailureAction:
        """As `classify`; but a model that refuses its earlier thoughts, or is only guessed to see files and refuses
        them, is asked again without."""
        if refuses_thoughts(failure) and not status.thoughtless:
            reason = f"{model.name} is asked again without its earlier thoughts: {failure.message}"
            return Retry(reason=reason, few=True, status=failure.status, thoughtless=True)
        guessed = model.facts.guessed and (model.facts.images or model.facts.documents)
        if not guessed or not refuses_files(failure):
            return classify(failure)
        self.blind_models.add((model.name, model.endpoint.base_url))
        reason = f"{model.name} is asked again without pictures and documents: {failure.message}"
        return Retry(reason=reason, few=True, status=failure.status)

    @asynccontextmanager
    async def start(self, request: Request, generation: Generation) -> AsyncIterator["Attempt"]:
        """The running activity's attempt, with heartbeats. The engine gets the errors that no retry can fix."""
        fence = fence_of(request)
        attempt = Attempt(self, request, generation, fence)
        async with (
            heartbeats(lambda: attempt.produced),
            log_refused_writes(self.database, request, generation.id),
            count_faults(self.database, request, f"this {generation.purpose}", generation.subject),
        ):
            try:
                yield attempt
            except UsageError as error:
                raise model_failed(str(error)) from error
            finally:
                await attempt.yield_turn()


class Attempt:
    """One attempt at a generation: begins, asks once, and stores the answer or a failure.

    Once it has begun: `status` is the generation's before it, `watched` whether a person follows the session,
    `version` the session's after its registration, and `started_at` loop time then. `reserved`: what its
    request uses of a budget in any case. `reminders_seal` as in `MessageCompleted`. `produced`: characters of its
    answer so far, `produced_before`: of the attempt before it.
    """

    status: GenerationStatus
    watched: bool
    version: SessionVersion
    started_at: float

    def __init__(self, shared: Attempts, request: Request, generation: Generation, fence: Fence) -> None:
        self.shared = shared
        self.database = shared.database
        self.request = request
        self.generation = generation
        self.fence = fence
        self.status = GenerationStatus()
        self.reserved: Usage | None = None
        self.reminders_seal: str | None = None
        self.produced = 0
        self.produced_before = last_progress()

    @property
    def turn_status(self) -> TurnStatus:
        """The turn of a step that has begun."""
        if self.status.turn_status is None:
            raise RuntimeError(f"Generation {self.generation.id!r} is no step: it has no turn.")
        return self.status.turn_status

    @asynccontextmanager
    async def registration(self) -> AsyncIterator[Journal]:
        """The transaction that begins this attempt and reads its view.

        What no turn waits for may begin under any epoch: it has a workflow of its own, and its fence orders it.
        """
        newest = self.generation.purpose.delays_turn
        async with session_journal(
            self.database, self.request.session, WORKER, epoch=self.request.epoch, needs_newest=newest
        ) as journal:
            yield journal
            await failpoint("model.registering", self.generation.purpose)
        await failpoint("model.registered", self.generation.purpose)
        self.version, self.started_at = journal.version_after, asyncio.get_running_loop().time()

    async def begin(self, journal: Journal) -> StoredAnswer | TurnOver | Suspended | BackoffPending | None:
        """Register this attempt, which may then ask the model; else the answer stored before, or why not to ask."""
        begun, self.watched = await asyncio.gather(
            generations.begin(journal, self.generation, self.fence), deltas.is_watched(journal, journal.session)
        )
        match begun:
            case GenerationStatus():
                self.status = begun
                self.generation = self.generation.model_copy(update={"id": begun.id})
                return None
            case _:
                return begun

    def follow(self, journal: Journal, message: MessageId) -> None:
        """Give the step's answer an id after that of a message before it, which may be of a clock that is ahead."""
        if self.generation.message < message and is_id(Prefix.MESSAGE, message):
            newer = GenerationId(new_id(Prefix.GENERATION, after=message))
            self.generation = generations.renew(journal, self.generation, newer)

    async def record_request(self, request: ModelRequest, form: RequestForm) -> None:
        """Record the request before it is sent; a step's is stored with its registration.

        Raises StaleFence if another attempt has registered."""
        digest = RequestDigester().digest(request, form.model)
        async with self.finishing_journal() as journal:
            (await generations.status(journal, self.generation)).refuse_other(self.fence)
            attempts.store(journal, self.generation.id, self.fence, digest, form)

    async def accepted(self) -> None:
        """The provider has accepted the request: others may ask. An unreachable store costs them a minute, not this
        answer, which is read only after this."""
        if self.status.limited:
            with suppress(Unavailable):
                await model_limits.lift(self.database, self.generation)

    async def yield_turn(self) -> None:
        """Let others try the model, if it was this attempt's turn and it has not asked, as when its context is full."""
        if self.status.limited:
            with suppress(Unavailable):
                await model_limits.yield_turn(self.database, self.generation)

    async def store(self, new: NewAnswer) -> StoredAnswer | TurnOver:
        """Store the answer, once, however long the database is away; detects its own unacknowledged commit."""
        await failpoint("model.answered")
        stored = await retry_while_unavailable(lambda: self._commit(new))
        await failpoint("model.committed", self.generation.purpose)
        return stored

    async def break_off(self, model: ResolvedModel, begun: NewAnswer) -> None:
        """Count what was used, and store as the answer what has come of a step's."""
        await self.end_reservation(model, sent=True)
        if begun.parts and self.generation.purpose is Purpose.STEP:
            await self.store(begun.model_copy(update={"reminders_seal": self.reminders_seal}))

    async def _commit(self, new: NewAnswer) -> StoredAnswer | TurnOver:
        async def store(journal: Journal) -> tuple[Callable[[], StoredAnswer | TurnOver], SessionVersion | None]:
            if journal.as_seen:
                return generations.commit_as_seen(journal, self.generation, self.fence, new), journal.version_after
            committed = await generations.commit(journal, self.generation, self.fence, new)
            return lambda: committed, None

        result, version = await write_optimistically(self.finishing_journal, self.version, store)
        stored = result()
        if version is not None and isinstance(stored, StoredAnswer):
            alone = version if len(stored.calls) == 1 else None
            for row in stored.calls:
                prepared = PreparedCall(row, self.turn_status.turn_config, stored.live, alone)
                self.database.prepared_calls.put(row.id, prepared)
        return stored

    async def failed(self, model: ResolvedModel, failure: ProviderFailure) -> ApplicationError:
        """Record a provider's failure; the engine's error: when to try again, or never."""
        error = await self._decided(model, failure)
        if error.non_retryable and self.generation.purpose is Purpose.STEP:
            final = FinalFailure(
                overflow=error.type != MODEL_FAILED,
                retryable=isinstance(classify(failure), Retry),
                status=failure.status,
                body=storable_text(failure.body)[:_LONGEST_BODY] if failure.body else None,
            )
            await retry_while_unavailable(lambda: self._record_final(final))
        return error

    async def unasked(self, error: UsageError) -> UsageError:
        """Record that no provider was asked, if that is for lack of a key; the error."""
        if isinstance(error, MissingKey):
            final = FinalFailure(overflow=False, retryable=False, missing_key=True)
            await retry_while_unavailable(lambda: self._record_final(final))
        return error

    async def _decided(self, model: ResolvedModel, failure: ProviderFailure) -> ApplicationError:
        action = self.shared.decide(model, failure, self.status)
        await self.end_reservation(model, sent=failure.begun)
        if (text := await self._unreachable_text(model, failure)) is not None:
            return model_failed(text)
        match action:
            case Overflow(message=message):
                text = f"The conversation is too long for {model.name}: {message.rstrip('. ')}."
                return ApplicationError(text, type="ContextOverflow", non_retryable=True)
            case Stop():
                return model_failed(refusal_text(model.name, action, failure.status))
            case Retry():
                if action.few and await self._count("doubtful refusals") >= MAX_DOUBTFUL_ATTEMPTS:
                    return model_failed(doubtful_text(model.name, action.reason))
                if failure.begun and (broken := await self._count("answers broken off")) >= MAX_BROKEN_ANSWERS:
                    return model_failed(broken_answers_text(model.name, broken, action.reason))
                return await self._pause(model, action)

    async def end_reservation(self, model: ResolvedModel, *, sent: bool) -> None:
        """There will be no answer: count what was used, if the request was `sent` and accepted."""
        if self.reserved is not None:
            await retry_while_unavailable(lambda: self._end_reservation(model, sent))
            self.reserved = None

    def estimate(self, answer: Answer, model: ResolvedModel) -> Usage | None:
        """What an answer has used of a budget, if its provider did not count it, or its cost is not known."""
        if self.reserved is None:
            return None
        if not answer.tokens.reported:
            return self.reserved + produced(self.produced, model.price, model.terms)
        unknown = model.price is not None and answer.cost(model.price) is None
        return usage_of(answer.tokens, model.price, answer.terms) if unknown else None

    async def _end_reservation(self, model: ResolvedModel, sent: bool) -> None:
        async with self.finishing_journal() as journal:
            ended = await reservations.release(journal, self.generation.id, self.fence)
            if ended is not None and sent:
                answers = {self.generation.id: produced(self.produced, model.price, model.terms)}
                reservations.charge(journal, ended, answers=answers)

    async def _unreachable_text(self, model: ResolvedModel, failure: ProviderFailure) -> str | None:
        """Why the address is given up; None: wait, as during an outage."""
        provider, _ = split_model_id(model.name)
        address, reached = (provider, model.endpoint.base_url), self.shared.reached_addresses
        if failure.connect_error is None or address in reached:
            reached.add(address)
            return None
        refused = await self._count("failed connections")
        if self.status.failures >= refused:  # another failure came from the address
            reached.add(address)
            return None
        if refused < MAX_CONNECT_ATTEMPTS:
            return None
        if await retry_while_unavailable(lambda: generations.provider_has_answered(self.database, provider)):
            reached.add(address)
            return None
        return unreachable_text(provider, model.endpoint.base_url, failure.connect_error)

    async def _count(self, what: str) -> int:
        """Count this failure: how many of its kind the generation has had."""
        work = f"{what} of {self.generation.subject}"
        return await retry_while_unavailable(
            lambda: faults.count_failed_attempt(self.database, self.request.session, work, self.fence)
        )

    async def _pause(self, model: ResolvedModel, action: Retry) -> ApplicationError:
        """Record a pause before it begins; the engine's retry timer survives restarts."""
        attempt, now, budget = self.status.failures + 1, datetime.now(UTC), self.shared.retry_budget
        pause = action.pause_seconds(attempt, now, random.random(), budget.first_pause)
        spent = asyncio.get_running_loop().time() - self.started_at
        waited = self.status.waited_ms / 1000 + spent
        if waited + pause > budget.total_seconds:
            return model_failed(budget_spent_text(model.name, attempt, waited, pause, action.reason))
        failure = FailedAttempt(
            attempt=attempt,
            kind=str(action.status or "network"),
            message=storable_text(self.shared.redactor.text(action.reason)),
            pause=pause,
            waited_ms=int((spent + pause) * 1000),
            next_at=(now + timedelta(seconds=pause)).isoformat(timespec="milliseconds"),
            thoughtless=action.thoughtless,
        )
        await retry_while_unavailable(lambda: self._record(failure))
        await failpoint("model.retry_noted", self.generation.purpose)
        return ProviderPause(f"failure {attempt}, waited out until {failure.next_at}: {action.reason}", pause)

    async def _record(self, failure: FailedAttempt) -> None:
        async with self.finishing_journal() as journal:
            await generations.record_failure(journal, self.generation, self.fence, failure)

    async def _record_final(self, failure: FinalFailure) -> None:
        async with self.finishing_journal() as journal:
            await generations.record_final_failure(journal, self.generation, self.fence, failure)

    def finishing_journal(self, *, seen: SessionVersion | None = None) -> AbstractAsyncContextManager[Journal]:
        """A journal to finish what this attempt has registered for, even if its epoch is no longer the newest."""
        return session_journal(
            self.database, self.request.session, WORKER, epoch=self.request.epoch, seen=seen, needs_newest=False
        )


def rest_of_pause(pending: BackoffPending) -> ProviderPause:
    """Tells the engine how long the provider must not be asked yet."""
    return ProviderPause(f"failure {pending.failures} is being waited out", pending.seconds)


def model_failed(text: str) -> ApplicationError:
    """Fails what asked the model; there is no retry."""
    return ApplicationError(text, type=MODEL_FAILED, non_retryable=True)
