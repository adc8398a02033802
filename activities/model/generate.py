"""Model.generate: view → answer → prepared calls."""

import asyncio
from collections.abc import Callable
from datetime import date

from temporalio import activity

from activities.calls.description import CallDescriber
from activities.calls.permissions import PermissionEvaluator
from activities.calls.planner.planner import Planner
from activities.calls.prepare import CallPreparer
from activities.model.answer import AnswerStream
from activities.model.attempt import Attempt, Attempts, rest_of_pause
from activities.model.context_fill import begins_anew, context_tokens, is_full
from activities.model.endpoints import EndpointResolver, ResolvedModel
from activities.model.reminders import due_reminders, reminders_of_summary
from activities.model.reservation import reserve_step
from activities.model.retry_budget import ProviderPause
from activities.model.step_request import StepRequests, StepView
from activities.project.project_loader import ProjectLoader
from activities.store import budgets, calls, compaction_requests, compactions, generations, prompts, prunings, turns
from activities.store.generations import BackoffPending, StoredAnswer, Suspended, TurnOver
from activities.store.journal import Journal
from activities.store.transcript_cache import TranscriptCache
from activities.tools.toolset import Toolsets
from workflows.domain.context.prune import cleared_calls
from workflows.domain.generation import Generation, Purpose
from workflows.domain.ids import TurnId
from workflows.domain.messages import Reminder, Transcript
from workflows.domain.permissions.rules import Ruleset
from workflows.domain.step_flaw import find_flaw
from workflows.domain.wire import (
    FINISH_FULL,
    FINISH_LIMIT,
    FINISH_PAUSED,
    FINISH_STOPPED,
    FINISH_SUSPENDED,
    GenerateRequest,
    StepResult,
)


class Model:
    """Asks the model for a step's answer, and stores it once.

    A second attempt returns the committed answer, or replaces a partial one.
    """

    def __init__(
        self,
        attempts: Attempts,
        answers: AnswerStream,
        endpoints: EndpointResolver,
        loader: ProjectLoader,
        toolsets: Toolsets,
        describe: CallDescriber,
        planner: Planner | None = None,
        today: Callable[[], date] = date.today,
    ) -> None:
        self.attempts = attempts
        self.answers = answers
        self.endpoints = endpoints
        self.loader = loader
        self.toolsets = toolsets
        self.describe = describe
        self.planner = planner
        self.today = today
        self.transcripts = TranscriptCache()
        self.requests = StepRequests()

    @activity.defn(name="holdfast.model.generate")
    async def generate(self, request: GenerateRequest) -> StepResult:
        try:
            return await self.answer(request)
        except ProviderPause as pause:
            if not (request.waits and pause.is_long):
                raise
            return StepResult(finish=FINISH_PAUSED, pause=pause.seconds)

    async def answer(self, request: GenerateRequest) -> StepResult:
        """Raises as `Attempts.start` and `AnswerStream.get`."""
        step = Generation(id=request.generation, purpose=Purpose.STEP, turn=request.turn, step=request.step)
        async with self.attempts.start(request, step) as attempt:
            view = await self.begin(request, attempt)
            if isinstance(view, BackoffPending):
                raise rest_of_pause(view)
            if isinstance(view, StepResult):
                return view
            turn, config = attempt.turn_status, view.turn_config
            model = await self.endpoints.resolve(turn.model, config.config, agent=config.agent, variant=turn.variant)
            if not request.unchecked and await self.has_to_be_compacted(request, view, model):
                return StepResult(finish=FINISH_FULL)
            budget = view.budget if request.limited else None
            limit = await reserve_step(attempt, budget, model, view.transcript, request.turn, request.step)
            if limit is not None:
                return limit
            toolset, context = self.toolsets.of(config), self.loader.turn_context(config.directory, config)
            preparer = CallPreparer(request, attempt.generation.message, toolset, context, self.planner)
            question = self.requests.build(request, view, model, toolset)
            answer = await self.answers.get(attempt, model, question, turn.agent, preparer.prepare)
            stored = await attempt.store(answer.model_copy(update={"reminders_seal": view.reminders_seal}))
        if isinstance(stored, TurnOver):
            return StepResult(finish=FINISH_STOPPED)
        return self.step_result(request, stored, config.rules)

    async def begin(self, request: GenerateRequest, attempt: Attempt) -> StepView | StepResult | BackoffPending:
        """Register the attempt, take the steered prompts, and read the view; else a result, or how long not to ask.

        A step's reminders are recorded before its first request: a retry sends the same.

        Raises as `Attempt.begin`.
        """
        async with attempt.registration() as journal:
            begun, steered, transcript, pruned, asked, budget = await asyncio.gather(
                attempt.begin(journal),
                prompts.steered(journal),
                self.transcripts.read(journal, request.session),
                prunings.newest(journal, request.session),
                compaction_requests.undone(journal, request.session, request.turn),
                budgets.of_session(journal, request.session),
            )
            match begun:
                case BackoffPending():
                    return begun
                case TurnOver():
                    return StepResult(finish=FINISH_STOPPED)
                case Suspended():
                    return StepResult(finish=FINISH_SUSPENDED)
                case StoredAnswer():
                    turn = await turns.turn_status(journal, request.turn)
                    config = await turns.turn_config(journal, turn.turn_config)
                    return self.step_result(request, begun, config.rules)
            last = attempt.turn_status.last_step
            if last is not None and request.step >= last and not request.text_only:
                return StepResult(finish=FINISH_LIMIT, last_step=last)
            config = await turns.turn_config(journal, attempt.turn_status.turn_config)
            owing = request.turn if config.format is not None else None
            due = await self.due_reminders(request, attempt, journal, transcript, prompted=bool(steered), owing=owing)
            reminded = attempt.status.reminders_seal
            if due:
                reminded = generations.remind(journal, attempt.generation.id, due)
            for prompt in steered:
                prompts.take(journal, prompt, request.turn, request.step)
            if due or steered:
                transcript = await self.transcripts.read(journal, request.session)
            if request.step == 1 and config.config.compaction.prune:
                pruned = prunings.advance(journal, request.turn, transcript, pruned)
            cleared = cleared_calls(transcript, pruned.call if pruned else None)
            return StepView(transcript, cleared, config, reminded, compacts=bool(asked), budget=budget)

    async def due_reminders(
        self,
        request: GenerateRequest,
        attempt: Attempt,
        journal: Journal,
        transcript: Transcript,
        *,
        prompted: bool,
        owing: TurnId | None,
    ) -> tuple[Reminder, ...]:
        """Of the step's first request, of the first one behind a summary, or of one that a spent budget has made the
        last."""
        anew = begins_anew(transcript)
        untold = attempt.status.reminders_seal is None and (anew or request.text_only)
        if attempt.status.fence is not None and not untold:
            return ()
        due = due_reminders(transcript, self.today(), text_only=request.text_only, owing=owing)
        if not anew:
            return due
        todos = await calls.todos(journal, request.session)
        return (*reminders_of_summary(transcript, todos, prompted=prompted), *due)

    async def has_to_be_compacted(self, request: GenerateRequest, view: StepView, model: ResolvedModel) -> bool:
        """By a person's wish; or full: but not where that has failed before, until the context has grown or another
        model is asked."""
        if view.compacts:
            return True
        settings = view.turn_config.config.compaction
        if not settings.auto or not is_full(view.transcript, model.usable(settings)):
            return False
        newest = await compactions.newest_try(self.attempts.database, request.session)
        return newest is None or not newest.holds_for(model.name, context_tokens(view.transcript))

    def step_result(self, request: GenerateRequest, answer: StoredAnswer, rules: Ruleset) -> StepResult:
        """The calls are judged by the turn's rules and the live grants."""
        evaluator = PermissionEvaluator(rules, answer.live)
        return StepResult(
            finish=answer.body.finish,
            calls=tuple(evaluator.open_call(row, self.describe) for row in answer.calls),
            has_text=answer.has_text if request.text_only else None,
            flaw=find_flaw(answer.body.finish, text=answer.has_text, calls=bool(answer.calls)),
        )
