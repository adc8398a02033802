"""Model.generate: view → stream → commit → prepared calls; ids in, ids out. A committed answer is never paid twice."""

import asyncio
import platform
import random
from collections.abc import Sequence
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.calls.description import CallDescriber
from activities.calls.permissions import PermissionEvaluator, load_evaluator
from activities.calls.planner.planner import Planner
from activities.calls.prepare import CallPreparer
from activities.calls.run import record_refused_write
from activities.error_boundary import storable_text
from activities.failpoints import failpoint
from activities.fault_limit import count_faults
from activities.heartbeat import heartbeats
from activities.mint import Mint
from activities.model.deltas import DeltaBatch, DeltaBatcher
from activities.model.endpoints import EndpointResolver, ResolvedModel
from activities.model.failures import ModelError, Overflow, ProviderFailure, Retry, Stop, classify
from activities.model.input_messages import AnswerCache, to_input_messages
from activities.model.port import ModelPort, ModelRequest
from activities.model.providers import split_model_id
from activities.model.retry_budget import (
    MAX_BROKEN_ANSWERS,
    MAX_CONNECT_ATTEMPTS,
    RetryBudget,
    broken_answers_text,
    budget_spent_text,
    refusal_text,
    retry_later,
    unreachable_text,
)
from activities.model.stream import Answer, AnswerAssembler
from activities.model.system_prompt import system_prompt
from activities.model.tool_offers import offer_tools
from activities.project.project_loader import ProjectLoader
from activities.redact import Redactor
from activities.store import calls, deltas, faults, generations, grants, turns
from activities.store.calls import CallRow, FreshCall
from activities.store.commit_retry import retry_while_unavailable
from activities.store.database import Database
from activities.store.deltas import Watchers
from activities.store.generations import (
    AlreadyStored,
    BackoffPending,
    FailedAttempt,
    NewAnswer,
    NewPart,
    StepAttempt,
    Suspended,
    TurnOver,
)
from activities.store.journal import WORKER, Journal, Place, session_journal
from activities.store.outages import Moved
from activities.store.transcript_cache import TranscriptCache
from activities.tools.toolset import Toolsets
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import StaleFence, UsageError
from workflows.domain.ids import PartId, Prefix
from workflows.domain.messages import AnswerMetadata, ReasoningPart, RequestedCall, TextPart
from workflows.domain.step_flaw import find_flaw
from workflows.domain.usage import decimal_text
from workflows.domain.wire import FINISH_STOPPED, FINISH_SUSPENDED, Fence, GenerateRequest, PreparedCall, StepResult


@dataclass(frozen=True)
class StepContext:
    """An attempt's state from its registration. `started_at`: loop time then. `place`: the session after it."""

    begun: StepAttempt
    turn_config: TurnConfig
    watched: bool
    started_at: float
    place: Place


class Model:
    """Asks the model for a step's answer, and stores it once.

    A second attempt returns the committed answer, or replaces a partial one.
    """

    def __init__(
        self,
        database: Database,
        port: ModelPort,
        endpoints: EndpointResolver,
        loader: ProjectLoader,
        toolsets: Toolsets,
        describe: CallDescriber,
        redactor: Redactor,
        retry_budget: RetryBudget,
        planner: Planner | None = None,
    ) -> None:
        self.planner = planner
        self.database = database
        self.port = port
        self.endpoints = endpoints
        self.loader = loader
        self.toolsets = toolsets
        self.describe = describe
        self.redactor = redactor
        self.retry_budget = retry_budget
        self.mint = Mint()
        self.transcripts = TranscriptCache()
        self.answer_cache: AnswerCache = AnswerCache()
        self.reached_addresses: set[tuple[str, str | None]] = set()  # providers and their addresses

    @activity.defn(name="holdfast.model.generate")
    async def generate(self, request: GenerateRequest) -> StepResult:
        """A step's answer: its finish and its prepared calls."""
        fence = request.fence(activity.info().attempt)
        async with heartbeats():
            try:
                async with count_faults(self.database, request, "this step", f"{request.turn}/{request.step}"):
                    return await self.run_attempt(request, fence)
            except StaleFence as stale:
                await record_refused_write(self.database, request.session, request.message, fence)
                raise ApplicationError(str(stale), type="StaleFence", non_retryable=True) from stale

    async def run_attempt(self, request: GenerateRequest, fence: Fence) -> StepResult:
        context = await self.register_attempt(request, fence)
        if isinstance(context, StepResult):
            return context
        try:
            resolved = await self.endpoints.resolve(context.begun.turn_status.model, context.turn_config.config)
            await failpoint("model.before_request")
            answer = await self.request_answer(request, fence, context, resolved)
        except UsageError as error:
            raise ApplicationError(str(error), type="ModelFailed", non_retryable=True) from error
        try:
            new = await self.build_answer(request, context, resolved, answer)
        except (ValueError, TypeError, RecursionError) as error:
            message = f"{context.begun.turn_status.model} gave an answer that cannot be stored: {error}"
            raise ApplicationError(message, type="ModelFailed", non_retryable=True) from error
        step = await retry_while_unavailable(lambda: self.commit(request, fence, context, new))
        await failpoint("model.committed")
        return step

    async def register_attempt(self, request: GenerateRequest, fence: Fence) -> StepContext | StepResult:
        """Register this attempt and read the view; a StepResult if there is an answer already, or the turn is over.

        Raises ApplicationError, with the rest of the pause, while the provider must not be asked.
        """
        async with self.journal(request) as journal:
            begun, watched = await asyncio.gather(
                generations.begin(journal, request.turn, request.step, fence, self.transcripts.read),
                deltas.is_watched(journal, request.session),
            )
            if isinstance(begun, TurnOver):
                return StepResult(finish=FINISH_STOPPED)
            if isinstance(begun, Suspended):
                return StepResult(finish=FINISH_SUSPENDED)
            if isinstance(begun, AlreadyStored):
                return await self.stored_step_result(journal, request, begun)
            if isinstance(begun, BackoffPending):
                raise retry_later(f"failure {begun.failures} is being waited out", begun.seconds)
            frozen = await turns.turn_config(journal, begun.turn_status.turn_config)
        return StepContext(begun, frozen, watched, started_at=asyncio.get_running_loop().time(), place=journal.left)

    async def request_answer(
        self, request: GenerateRequest, fence: Fence, context: StepContext, resolved: ResolvedModel
    ) -> Answer:
        assembler = AnswerAssembler()
        try:
            await self.stream_answer(request, fence, context, resolved, assembler)
            return assembler.answer()
        except ModelError as error:
            failure = error.failure.model_copy(update={"begun": error.failure.begun or assembler.begun})
            raise await self.to_application_error(request, fence, context, resolved, failure) from error

    async def stream_answer(
        self,
        request: GenerateRequest,
        fence: Fence,
        context: StepContext,
        resolved: ResolvedModel,
        assembler: AnswerAssembler,
    ) -> None:
        """Stream the answer into `assembler` and to watchers, tagged with this attempt."""
        model = context.begun.turn_status.model
        system = system_prompt(context.turn_config, model, platform=platform.system().lower(), today=date.today())
        message = context.begun.transcript
        model_request = ModelRequest(
            endpoint=resolved.endpoint,
            messages=to_input_messages(
                system, message, model, resolved.facts, text_only=request.text_only, answer_cache=self.answer_cache
            ),
            tools=offer_tools(self.toolsets.of(context.turn_config), context.turn_config),
            tool_choice="none" if request.text_only else None,  # the tools stay: providers cache the prefix
            max_output=resolved.max_output,
            options=resolved.options,
        )

        async def send_batch(batch: DeltaBatch) -> None:
            bodies = [asdict(delta) for delta in batch.deltas]
            await deltas.publish(self.database, request.session, request.message, batch.attempt, bodies)

        tag = "-".join(str(number) for number in fence)
        watchers = Watchers(self.database, request.session, context.watched)
        async with (
            DeltaBatcher(tag, send_batch, watchers.present) as batcher,
            aclosing(self.port.stream(model_request)) as stream,
        ):
            async for event in stream:
                if (delta := assembler.add(event)) is not None:
                    batcher.add(delta)
                    await failpoint("model.after_chunk")

    async def build_answer(
        self, request: GenerateRequest, context: StepContext, resolved: ResolvedModel, answer: Answer
    ) -> NewAnswer:
        """The answer with its price, parts and prepared calls."""
        turn = self.loader.turn_context(context.turn_config.directory, context.turn_config)
        preparer = CallPreparer(self.toolsets.of(context.turn_config), turn, self.mint, self.planner)
        turn_status = context.begun.turn_status
        parts = [
            NewPart(id=PartId(self.mint.new(Prefix.PART)), position=position, body=part)
            for position, part in enumerate(answer.parts)
            if isinstance(part, TextPart | ReasoningPart)
        ]
        prepared = [
            await preparer.prepare(position, part)
            for position, part in enumerate(answer.parts)
            if isinstance(part, RequestedCall)
        ]
        spent = answer.cost(resolved.price)
        body = AnswerMetadata(
            finish=answer.finish,
            agent=turn_status.agent,
            model=turn_status.model,
            tokens=answer.tokens,
            cost=None if spent is None else decimal_text(spent),
        )
        return NewAnswer(id=request.message, body=body, parts=tuple(parts), calls=tuple(prepared))

    async def commit(self, request: GenerateRequest, fence: Fence, context: StepContext, new: NewAnswer) -> StepResult:
        """Store the answer; in one exchange if the session is unchanged since this attempt registered."""
        with suppress(Moved):
            return await self.commit_held(request, fence, context, new)
        return await self.commit_moved(request, fence, context, new)

    async def commit_held(
        self, request: GenerateRequest, fence: Fence, context: StepContext, new: NewAnswer
    ) -> StepResult:
        """Raises Moved."""
        turn_config = context.begun.turn_status.turn_config
        async with self.journal(request, held=context.place) as journal:
            rows = generations.commit_held(journal, request.turn, request.step, fence, new)
            live_later = grants.live_later(journal)
            deltas.delete(journal, request.message)
        live = live_later()
        for row in rows:
            place = journal.left if len(rows) == 1 else None
            calls.keep_fresh(self.database, FreshCall(row, turn_config, live, place))
        return self.new_step_result(request, new, rows, PermissionEvaluator(context.turn_config.rules, live))

    async def commit_moved(
        self, request: GenerateRequest, fence: Fence, context: StepContext, new: NewAnswer
    ) -> StepResult:
        """Read what has changed, and store the answer; detects an own commit whose acknowledgement was lost."""
        async with self.journal(request) as journal:
            committed, evaluator = await asyncio.gather(
                generations.commit(journal, request.turn, request.step, fence, new),
                load_evaluator(journal, context.begun.turn_status.turn_config),
            )
            match committed:
                case TurnOver():
                    return StepResult(finish=FINISH_STOPPED)
                case AlreadyStored():
                    return await self.stored_step_result(journal, request, committed)
                case rows:
                    deltas.delete(journal, request.message)
                    return self.new_step_result(request, new, rows, evaluator)

    async def stored_step_result(self, journal: Journal, request: GenerateRequest, answer: AlreadyStored) -> StepResult:
        """An answer stored before, its calls judged by the present rules and grants."""
        turn_status, rows = await asyncio.gather(
            turns.turn_status(journal, request.turn), calls.of_step(journal, request.turn, request.step)
        )
        evaluator = await load_evaluator(journal, turn_status.turn_config)
        text = await generations.has_text(journal, answer.message)
        return self.step_result(request, answer.body, self.prepare_calls(rows, evaluator), text=text)

    def new_step_result(
        self, request: GenerateRequest, new: NewAnswer, rows: Sequence[CallRow], evaluator: PermissionEvaluator
    ) -> StepResult:
        """The answer for the workflow."""
        return self.step_result(request, new.body, self.prepare_calls(rows, evaluator), text=new.has_text)

    def step_result(
        self, request: GenerateRequest, body: AnswerMetadata, prepared: tuple[PreparedCall, ...], *, text: bool
    ) -> StepResult:
        return StepResult(
            finish=body.finish,
            calls=prepared,
            has_text=text if request.text_only else None,
            flaw=find_flaw(body.finish, text=text, calls=bool(prepared)),
        )

    def prepare_calls(self, rows: Sequence[CallRow], evaluator: PermissionEvaluator) -> tuple[PreparedCall, ...]:
        return tuple(evaluator.prepared_call(row, self.describe) for row in rows)

    async def to_application_error(
        self,
        request: GenerateRequest,
        fence: Fence,
        context: StepContext,
        resolved: ResolvedModel,
        failure: ProviderFailure,
    ) -> ApplicationError:
        """The engine's error: when to try again, or never."""
        begun, action = context.begun, classify(failure)
        if (message := await self.unreachable_reason(begun, resolved, failure)) is not None:
            return ApplicationError(message, type="ModelFailed", non_retryable=True)
        match action:
            case Overflow(message=message):
                message = f"The conversation is too long for {begun.turn_status.model}: {message}"
                return ApplicationError(message, type="ContextOverflow", non_retryable=True)
            case Stop():
                message = refusal_text(begun.turn_status.model, action, failure.status)
                return ApplicationError(message, type="ModelFailed", non_retryable=True)
            case Retry():
                if (
                    failure.begun
                    and (ended := await self.count_broken_answer(request, fence, begun, action)) is not None
                ):
                    return ended
                return await self.schedule_retry(request, fence, context, action)

    async def count_broken_answer(
        self, request: GenerateRequest, fence: Fence, begun: StepAttempt, action: Retry
    ) -> ApplicationError | None:
        """Count an answer that broke off; returns the turn's end after too many in a step."""
        work = f"answers broken off of {request.turn}/{request.step}"
        broken = await retry_while_unavailable(
            lambda: faults.count_failed_attempt(self.database, request.session, work, fence)
        )
        if broken < MAX_BROKEN_ANSWERS:
            return None
        message = broken_answers_text(begun, broken, action.reason)
        return ApplicationError(message, type="ModelFailed", non_retryable=True)

    async def unreachable_reason(
        self, begun: StepAttempt, resolved: ResolvedModel, failure: ProviderFailure
    ) -> str | None:
        """Why not to wait for an address that never answered; None to wait, as in an outage."""
        id, _ = split_model_id(begun.turn_status.model)
        address = (id, resolved.endpoint.base_url)
        if failure.connect_error is None or address in self.reached_addresses:
            self.reached_addresses.add(address)
            return None
        if begun.failures + 1 < MAX_CONNECT_ATTEMPTS:
            return None
        if await retry_while_unavailable(lambda: generations.provider_has_answered(self.database, id)):
            self.reached_addresses.add(address)
            return None
        return unreachable_text(id, resolved.endpoint.base_url, failure.connect_error)

    async def schedule_retry(
        self, request: GenerateRequest, fence: Fence, context: StepContext, action: Retry
    ) -> ApplicationError:
        """Record a pause before it begins; the engine's retry timer survives restarts."""
        begun, now = context.begun, datetime.now(UTC)
        attempt, reason = begun.failures + 1, action.reason
        pause = action.pause_seconds(attempt, now, random.random(), self.retry_budget.first_pause)
        spent = asyncio.get_running_loop().time() - context.started_at
        if begun.waited_ms / 1000 + spent + pause > self.retry_budget.total_seconds:
            message = budget_spent_text(begun, spent, pause, reason)
            return ApplicationError(message, type="ModelFailed", non_retryable=True)
        failure = FailedAttempt(
            attempt=attempt,
            kind=str(action.status or "network"),
            message=storable_text(self.redactor.text(reason)),
            pause=pause,
            waited_ms=int((spent + pause) * 1000),
            next_at=(now + timedelta(seconds=pause)).isoformat(timespec="milliseconds"),
        )
        await retry_while_unavailable(lambda: self.record_failure(request, fence, failure))
        await failpoint("model.retry_noted")
        return retry_later(f"failure {attempt}, waited out until {failure.next_at}: {reason}", pause)

    async def record_failure(self, request: GenerateRequest, fence: Fence, failure: FailedAttempt) -> None:
        async with self.journal(request) as journal:
            await generations.record_failure(journal, request.turn, request.step, fence, failure)

    def journal(self, request: GenerateRequest, held: Place | None = None) -> Any:
        return session_journal(self.database, request.session, WORKER, epoch=request.epoch, held=held)
