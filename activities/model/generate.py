"""Model.generate: view → stream → commit → prepared calls; ids in, ids out. A committed answer is never paid twice."""

import asyncio
import platform
import random
from collections.abc import Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.edge import plain
from activities.failpoints import failpoint
from activities.giving_up import counting_faults
from activities.heartbeat import beating
from activities.mint import Mint
from activities.model.deltas import Batch, DeltaBatcher
from activities.model.endpoints import Endpoints, Reached
from activities.model.failures import ModelError, Overflow, ProviderFailure, Retry, Stop, posture
from activities.model.offer import offered
from activities.model.patience import (
    BROKEN,
    TRIES,
    Patience,
    asked_again,
    broken_off,
    never_answered,
    out_of_patience,
    refused,
)
from activities.model.port import ModelPort, ModelRequest, ToolOffer
from activities.model.prepare import Preparer
from activities.model.providers import parted
from activities.model.stream import Answer, Assembly, CallPart, ReasoningPart, TextPart
from activities.model.system_prompt import system_prompt
from activities.model.view import Answers, view
from activities.project.survey import Surveyor
from activities.redact import Redactor
from activities.session.describing import Describe
from activities.session.judging import Judge, judge
from activities.store import calls, deltas, faults, generations, grants, turns
from activities.store.calls import CallRow, FreshCall
from activities.store.database import Database
from activities.store.deltas import Watchers
from activities.store.generations import Begun, Failure, NewAnswer, NewPart, Over, Parked, Paused, Stored
from activities.store.journal import WORKER, Journal, Place, journal
from activities.store.kept import Transcripts
from activities.store.outages import Moved
from activities.store.persistence import persistently
from activities.tools.planner.planner import Planner
from activities.tools.run import refused_write
from activities.tools.tool import Tool
from workflows.domain import messages
from workflows.domain.config.snapshot import ProjectSnapshot
from workflows.domain.errors import StaleFence, UsageError
from workflows.domain.ids import PartId, Prefix
from workflows.domain.messages import AnswerBody, StoredPart
from workflows.domain.step_flaw import flaw
from workflows.domain.usage import decimal_text
from workflows.domain.wire import PARKED, STOPPED, Fence, GenerateRequest, PreparedCall, Step


@dataclass(frozen=True)
class Question:
    """What one attempt found when it registered: enough to ask the model. `since` is then, by the loop's clock, and
    `place` is where that has left the session."""

    begun: Begun
    snapshot: ProjectSnapshot
    watched: bool
    since: float
    place: Place


class Model:
    """Asks the model for the answer of a step, and stores it once.

    A second attempt returns the committed answer, or replaces what an earlier one has only begun.
    """

    def __init__(
        self,
        database: Database,
        port: ModelPort,
        endpoints: Endpoints,
        surveyor: Surveyor,
        tools: Mapping[str, Tool[Any]],
        describe: Describe,
        redactor: Redactor,
        patience: Patience,
        planner: Planner | None = None,
    ) -> None:
        self.planner = planner
        self.database = database
        self.port = port
        self.endpoints = endpoints
        self.surveyor = surveyor
        self.tools = tools
        self.describe = describe
        self.redactor = redactor
        self.patience = patience
        self.mint = Mint()
        self.transcripts = Transcripts()
        self.answers: Answers = Answers()
        self.answering: set[tuple[str, str | None]] = set()  # providers and addresses that have been reached

    @activity.defn(name="holdfast.model.generate")
    async def generate(self, request: GenerateRequest) -> Step:
        """The answer of a step: its finish and its prepared calls."""
        fence = request.fence(activity.info().attempt)
        async with beating():
            try:
                async with counting_faults(self.database, request, "this step", f"{request.turn}/{request.step}"):
                    return await self.attempt(request, fence)
            except StaleFence as stale:
                await refused_write(self.database, request.session, request.message, fence)
                raise ApplicationError(str(stale), type="StaleFence", non_retryable=True) from stale

    async def attempt(self, request: GenerateRequest, fence: Fence) -> Step:
        question = await self.begin(request, fence)
        if isinstance(question, Step):
            return question
        try:
            reached = await self.endpoints.reach(question.begun.standing.model, question.snapshot.config)
            await failpoint("model.before_request")
            answer = await self.answer(request, fence, question, reached)
        except UsageError as error:
            raise ApplicationError(str(error), type="ModelFailed", non_retryable=True) from error
        try:
            new = await self.new_answer(request, question, reached, answer)
        except (ValueError, TypeError, RecursionError) as error:
            said = f"{question.begun.standing.model} gave an answer that cannot be stored: {error}"
            raise ApplicationError(said, type="ModelFailed", non_retryable=True) from error
        step = await persistently(lambda: self.commit(request, fence, question, new))
        await failpoint("model.committed")
        return step

    async def begin(self, request: GenerateRequest, fence: Fence) -> Question | Step:
        """Register this attempt and read the view; a Step when there is an answer already, or the turn is over.

        Raises ApplicationError, with the rest of the pause, when the provider may not be asked yet.
        """
        async with self.journal(request) as opened:
            begun, watched = await asyncio.gather(
                generations.begin(opened, request.turn, request.step, fence, self.transcripts.read),
                deltas.watched(opened, request.session),
            )
            if isinstance(begun, Over):
                return Step(finish=STOPPED)
            if isinstance(begun, Parked):
                return Step(finish=PARKED)
            if isinstance(begun, Stored):
                return await self.stored(opened, request, begun)
            if isinstance(begun, Paused):
                raise asked_again(f"failure {begun.failures} is being waited out", begun.seconds)
            frozen = await turns.snapshot(opened, begun.standing.snapshot)
        return Question(begun, frozen, watched, since=asyncio.get_running_loop().time(), place=opened.left)

    async def answer(self, request: GenerateRequest, fence: Fence, question: Question, reached: Reached) -> Answer:
        assembly = Assembly()
        try:
            await self.ask(request, fence, question, reached, assembly)
            return assembly.answer()
        except ModelError as error:
            failure = error.failure.model_copy(update={"begun": error.failure.begun or assembly.begun})
            raise await self.failed(request, fence, question, reached, failure) from error

    async def ask(
        self, request: GenerateRequest, fence: Fence, question: Question, reached: Reached, assembly: Assembly
    ) -> None:
        """Stream the answer into `assembly`; watchers see it grow, tagged with this attempt."""
        model = question.begun.standing.model
        system = system_prompt(question.snapshot, model, platform=platform.system().lower(), today=date.today())
        said = question.begun.transcript
        wanted = ModelRequest(
            endpoint=reached.endpoint,
            messages=view(system, said, model, reached.facts, text_only=request.text_only, answers=self.answers),
            tools=self.offers(question.snapshot),
            tool_choice="none" if request.text_only else None,  # the tools stay: providers keep what came before
            max_output=reached.max_output,
            options=reached.options,
        )

        async def show(batch: Batch) -> None:
            bodies = [asdict(delta) for delta in batch.deltas]
            await deltas.keep(self.database, request.session, request.message, batch.attempt, bodies)

        tag = "-".join(str(number) for number in fence)
        watchers = Watchers(self.database, request.session, question.watched)
        async with (
            DeltaBatcher(tag, show, watchers.there) as batcher,
            aclosing(self.port.stream(wanted)) as stream,
        ):
            async for event in stream:
                if (delta := assembly.add(event)) is not None:
                    batcher.add(delta)
                    await failpoint("model.after_chunk")

    def offers(self, snapshot: ProjectSnapshot) -> tuple[ToolOffer, ...]:
        return offered(self.tools, snapshot.rules, snapshot.delegation)

    async def new_answer(
        self, request: GenerateRequest, question: Question, reached: Reached, answer: Answer
    ) -> NewAnswer:
        """The answer with its price, its parts, and its calls looked at."""
        place = self.surveyor.place(question.snapshot.directory, question.snapshot)
        preparer = Preparer(self.tools, place, self.mint, self.planner)
        standing = question.begun.standing
        parts = [
            NewPart(id=PartId(self.mint.new(Prefix.PART)), position=position, body=stored_part(part))
            for position, part in enumerate(answer.parts)
            if isinstance(part, TextPart | ReasoningPart)
        ]
        prepared = [
            await preparer.prepare(position, part)
            for position, part in enumerate(answer.parts)
            if isinstance(part, CallPart)
        ]
        spent = answer.cost(reached.price)
        body = AnswerBody(
            finish=answer.finish,
            agent=standing.agent,
            model=standing.model,
            tokens=answer.tokens,
            cost=None if spent is None else decimal_text(spent),
        )
        return NewAnswer(id=request.message, body=body, parts=tuple(parts), calls=tuple(prepared))

    async def commit(self, request: GenerateRequest, fence: Fence, question: Question, new: NewAnswer) -> Step:
        """Store the answer, in one go if the session is as it was when this attempt registered."""
        with suppress(Moved):
            return await self.commit_held(request, fence, question, new)
        return await self.commit_moved(request, fence, question, new)

    async def commit_held(self, request: GenerateRequest, fence: Fence, question: Question, new: NewAnswer) -> Step:
        """Raises Moved."""
        snapshot = question.begun.standing.snapshot
        async with self.journal(request, held=question.place) as opened:
            rows = generations.commit_held(opened, request.turn, request.step, fence, new)
            live_later = grants.live_later(opened)
            deltas.drop(opened, request.message)
        live = live_later()
        for row in rows:
            place = opened.left if len(rows) == 1 else None
            calls.keep_fresh(self.database, FreshCall(row, snapshot, live, place))
        return self.step(request, new, rows, Judge(question.snapshot.rules, live))

    async def commit_moved(self, request: GenerateRequest, fence: Fence, question: Question, new: NewAnswer) -> Step:
        """The same with a look at what has come; an own commit whose acknowledgement was lost is found."""
        async with self.journal(request) as opened:
            committed, by = await asyncio.gather(
                generations.commit(opened, request.turn, request.step, fence, new),
                judge(opened, question.begun.standing.snapshot),
            )
            match committed:
                case Over():
                    return Step(finish=STOPPED)
                case Stored():
                    return await self.stored(opened, request, committed)
                case rows:
                    deltas.drop(opened, request.message)
                    return self.step(request, new, rows, by)

    async def stored(self, opened: Journal, request: GenerateRequest, answer: Stored) -> Step:
        """An answer that was stored before, its calls judged by the rules and grants of now."""
        standing, rows = await asyncio.gather(
            turns.standing(opened, request.turn), calls.of_step(opened, request.turn, request.step)
        )
        by = await judge(opened, standing.snapshot)
        text = await generations.has_text(opened, answer.message)
        return self.told(request, answer.body, self.prepared(rows, by), text=text)

    def step(self, request: GenerateRequest, new: NewAnswer, rows: Sequence[CallRow], by: Judge) -> Step:
        """The answer as the workflow sees it."""
        return self.told(request, new.body, self.prepared(rows, by), text=new.has_text)

    def told(
        self, request: GenerateRequest, body: AnswerBody, prepared: tuple[PreparedCall, ...], *, text: bool
    ) -> Step:
        return Step(
            finish=body.finish,
            calls=prepared,
            text=text if request.text_only else None,
            flaw=flaw(body.finish, text=text, calls=bool(prepared)),
        )

    def prepared(self, rows: Sequence[CallRow], by: Judge) -> tuple[PreparedCall, ...]:
        return tuple(by.prepared(row, self.describe) for row in rows)

    async def failed(
        self, request: GenerateRequest, fence: Fence, question: Question, reached: Reached, failure: ProviderFailure
    ) -> ApplicationError:
        """What the engine is told: when to try again, or that trying is of no use."""
        begun, stance = question.begun, posture(failure)
        if (said := await self.unreachable(begun, reached, failure)) is not None:
            return ApplicationError(said, type="ModelFailed", non_retryable=True)
        match stance:
            case Overflow(message=message):
                said = f"The conversation is too long for {begun.standing.model}: {message}"
                return ApplicationError(said, type="ContextOverflow", non_retryable=True)
            case Stop():
                said = refused(begun.standing.model, stance, failure.status)
                return ApplicationError(said, type="ModelFailed", non_retryable=True)
            case Retry():
                if failure.begun and (ended := await self.broken(request, fence, begun, stance)) is not None:
                    return ended
                return await self.retry(request, fence, question, stance)

    async def broken(
        self, request: GenerateRequest, fence: Fence, begun: Begun, stance: Retry
    ) -> ApplicationError | None:
        """Count an answer that began and did not end; the end of the turn, once there are too many in a step."""
        work = f"answers broken off of {request.turn}/{request.step}"
        broken = await persistently(lambda: faults.count(self.database, request.session, work, fence))
        if broken < BROKEN:
            return None
        said = broken_off(begun, broken, stance.reason)
        return ApplicationError(said, type="ModelFailed", non_retryable=True)

    async def unreachable(self, begun: Begun, reached: Reached, failure: ProviderFailure) -> str | None:
        """Why there is no use in waiting for an address that never answered; None where there is, as in an outage."""
        id, _ = parted(begun.standing.model)
        tried = (id, reached.endpoint.base_url)
        if failure.unreached is None or tried in self.answering:
            self.answering.add(tried)
            return None
        if begun.failures + 1 < TRIES:
            return None
        if await persistently(lambda: generations.answered_by(self.database, id)):
            self.answering.add(tried)
            return None
        return never_answered(id, reached.endpoint.base_url, failure.unreached)

    async def retry(
        self, request: GenerateRequest, fence: Fence, question: Question, stance: Retry
    ) -> ApplicationError:
        """A pause, noted before it begins; the engine's retry timer keeps it over restarts."""
        begun, now = question.begun, datetime.now(UTC)
        attempt, reason = begun.failures + 1, stance.reason
        pause = stance.wait(attempt, now, random.random(), self.patience.first)
        spent = asyncio.get_running_loop().time() - question.since
        if begun.waited_ms / 1000 + spent + pause > self.patience.total:
            said = out_of_patience(begun, spent, pause, reason)
            return ApplicationError(said, type="ModelFailed", non_retryable=True)
        failure = Failure(
            attempt=attempt,
            kind=str(stance.status or "network"),
            said=plain(self.redactor.text(reason)),
            pause=pause,
            waited_ms=int((spent + pause) * 1000),
            next_at=(now + timedelta(seconds=pause)).isoformat(timespec="milliseconds"),
        )
        await persistently(lambda: self.note(request, fence, failure))
        await failpoint("model.retry_noted")
        return asked_again(f"failure {attempt}, waited out until {failure.next_at}: {reason}", pause)

    async def note(self, request: GenerateRequest, fence: Fence, failure: Failure) -> None:
        async with self.journal(request) as opened:
            await generations.failed(opened, request.turn, request.step, fence, failure)

    def journal(self, request: GenerateRequest, held: Place | None = None) -> Any:
        return journal(self.database, request.session, WORKER, chain_start=request.chain, held=held)


def stored_part(part: TextPart | ReasoningPart) -> StoredPart:
    """A finished part as it is stored."""
    if isinstance(part, TextPart):
        return messages.TextPart(text=part.text)
    return messages.ReasoningPart(text=part.text, details=part.details)
