"""Model.generate: view → answer → prepared calls."""

import time
from collections.abc import Callable
from datetime import date
from typing import Final, NamedTuple, TypeAlias

from temporalio import activity

from activities.calls.description import CallDescriber
from activities.calls.permissions import PermissionEvaluator
from activities.calls.planner.planner import Planner
from activities.calls.prepare import CallPreparer, in_order
from activities.failpoints import failpoint
from activities.files.named_files import resolve_references
from activities.model.answer import AnswerStream
from activities.model.attempt import Attempt, Attempts, rest_of_pause
from activities.model.context_fill import context_tokens, is_full, share_room
from activities.model.endpoints import EndpointResolver, ResolvedModel
from activities.model.ordered_step import files_answer, shell_answer, subtask_answer
from activities.model.port import ModelRequest
from activities.model.reservation import reserve_step
from activities.model.retry_budget import ProviderPause
from activities.model.step_request import StepRequests
from activities.model.step_view import (
    CommittedStep,
    FilesStep,
    Resolved,
    ShellStep,
    StepView,
    StepViews,
    SubtaskStep,
    Unresolved,
)
from activities.own_thread import read_in_time
from activities.project.project_loader import ProjectLoader
from activities.store import attempts, compactions, turns
from activities.store.calls import is_ordered
from activities.store.generations import BackoffPending, TurnOver
from activities.store.journal import Journal
from activities.store.lru_cache import LruCache
from activities.store.model_answers import StoredAnswer
from activities.store.turns import TurnStatus
from activities.tools.tool import Toolset, Toolsets
from workflows.domain.errors import ConfigError, UsageError
from workflows.domain.generation import Generation, Purpose
from workflows.domain.ids import TurnConfigId, TurnId
from workflows.domain.mentions import newest_mentions
from workflows.domain.permissions.rulesets import Rulesets
from workflows.domain.step_flaw import find_flaw
from workflows.domain.wire import FINISH_FULL, FINISH_PAUSED, FINISH_STOPPED, GenerateRequest, StepResult

_MOST_TURNS: Final = 1000
_MOST_MODELS: Final = 100
_RESOLVED_FOR: Final = 30.0  # seconds for which a key, a table or a file that has changed may go unseen

_ModelKey: TypeAlias = tuple[TurnConfigId, str, str | None]  # with model and variant


class _Begun(NamedTuple):
    view: StepView
    model: ResolvedModel
    toolset: Toolset
    question: ModelRequest
    prefix: str | None


class _TurnChanged(Exception):
    """The turn has got another model."""

    def __init__(self, turn: TurnStatus) -> None:
        super().__init__(turn.model)
        self.turn = turn


class _Unresolved(Exception):
    """Nothing is registered yet."""

    def __init__(self, view: Unresolved) -> None:
        super().__init__(*view.prompts)
        self.view = view


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
        self.views = StepViews(today)
        self.turns: LruCache[TurnId, TurnStatus] = LruCache(_MOST_TURNS)  # as their newest steps found them
        self.resolved: LruCache[_ModelKey, tuple[float, ResolvedModel]] = LruCache(_MOST_MODELS)  # since when
        self.requests = StepRequests(attempts.release)

    @activity.defn(name="holdfast.model.generate")
    async def generate(self, request: GenerateRequest) -> StepResult:
        try:
            return await self.answer(request)
        except ProviderPause as pause:
            if not pause.is_long:
                raise
            return StepResult(finish=FINISH_PAUSED, pause=pause.seconds)

    async def answer(self, request: GenerateRequest) -> StepResult:
        """Raises as `Attempts.start` and `AnswerStream.get`."""
        step = Generation(id=request.generation, purpose=Purpose.STEP, turn=request.turn, step=request.step)
        async with self.attempts.start(request, step) as attempt:
            match begun := await self.begin(request, attempt):
                case ShellStep() | SubtaskStep() | FilesStep():
                    return await self.begin_calls(request, attempt, begun)
                case BackoffPending():
                    raise rest_of_pause(begun)
                case UsageError():
                    raise await attempt.unasked(begun)
                case StepResult():
                    if begun.finish == FINISH_FULL:
                        await failpoint("model.full")
                    return begun
                case CommittedStep():
                    return self.step_result(request, begun.answer, begun.rules)
            view, model = begun.view, begun.model
            limit = await reserve_step(attempt, model, view, request)
            if limit is not None:
                return limit
            config, agent, database = view.turn_config, attempt.turn_status.agent, self.attempts.database
            context = self.loader.turn_context(config)
            mentions = newest_mentions(view.transcript, request.turn)
            offered, message = tuple(tool.name for tool in begun.question.tools), attempt.generation.message
            preparer = CallPreparer(
                request, message, begun.toolset, context, self.planner, view.recent, mentions, offered, database
            )
            try:
                answer = await self.answers.get(attempt, model, begun.question, agent, preparer.prepare)
            except BaseException:
                self.resolved.pop(_key_of(attempt.turn_status))  # another key or table may help
                raise
            body, settings = answer.body.model_copy(update={"prefix": begun.prefix}), config.config.compaction
            used = body.tokens.context or context_tokens(view.transcript, view.cleared, view.freed)
            calls = share_room(answer.calls, used, model.usable(settings), settings)
            stored = await attempt.store(
                answer.model_copy(
                    update={"reminders_seal": view.reminders_seal, "body": body, "calls": in_order(calls)}
                )
            )
        if isinstance(stored, TurnOver):
            return StepResult(finish=FINISH_STOPPED)
        return self.step_result(request, stored, config.rules)

    async def begin_calls(
        self, request: GenerateRequest, attempt: Attempt, step: ShellStep | SubtaskStep | FilesStep
    ) -> StepResult:
        """The answer that a prompt gives is stored as a model's is: once, with the decisions still to come."""
        config = step.turn_config
        context = self.loader.turn_context(config)
        if isinstance(step, SubtaskStep):
            context = context.open_to(step.subtask.task.agent)
        preparer = CallPreparer(request, attempt.generation.message, self.toolsets.of(config), context, self.planner)
        match step:
            case ShellStep():
                answer = await shell_answer(preparer, step.ordered, attempt.turn_status)
            case SubtaskStep():
                answer = await subtask_answer(preparer, step.subtask, attempt.turn_status)
            case FilesStep():
                found = await files_answer(preparer, step.resolved, attempt.turn_status)
                answer = found.model_copy(update={"reminders_seal": step.reminders_seal})
        stored = await attempt.store(answer.model_copy(update={"calls": in_order(answer.calls)}))
        if isinstance(stored, TurnOver):
            return StepResult(finish=FINISH_STOPPED)
        return self.step_result(request, stored, config.rules)

    async def begin(
        self, request: GenerateRequest, attempt: Attempt
    ) -> _Begun | ShellStep | SubtaskStep | FilesStep | CommittedStep | StepResult | BackoffPending | UsageError:
        """Register the attempt with the digest of its request; else why the model is not to be asked. An error in the
        configuration is returned, as the attempt is registered all the same."""
        database = self.attempts.database
        turn = self.turns.get(request.turn) or await turns.read_status(database, request.session, request.turn)
        resolved: Resolved = {}
        unreadable: ConfigError | None = None
        while True:
            # Before the registration, whose lock would wait for files too.
            model = await self.resolve(turn)
            try:
                return await self.register(request, attempt, turn, model, resolved, unreadable)
            except _TurnChanged as changed:
                turn = changed.turn
            except _Unresolved as unresolved:
                try:
                    resolved = await self.resolve_references(unresolved.view)
                except ConfigError as error:
                    unreadable = error

    async def resolve_references(self, unresolved: Unresolved) -> Resolved:
        """Raises ConfigError when they are not found in time."""
        config = unresolved.turn_config
        delegation, workspace = config.delegation, self.loader.turn_workspace(config)
        agents = [] if delegation.too_deep else [each.name for each in delegation.offered_agents(config.rules)]

        def resolve() -> Resolved:
            prompts = unresolved.prompts.items()
            return {prompt: resolve_references(content, workspace, agents) for prompt, content in prompts}

        return await read_in_time("What the prompt refers to", resolve)

    async def resolve(self, turn: TurnStatus) -> ResolvedModel | UsageError:
        """Not at each step: it reads the files of keys and tables."""
        database, key, now = self.attempts.database, _key_of(turn), time.monotonic()
        since, model = self.resolved.get(key) or (now, None)
        if model is None or now - since > _RESOLVED_FOR:
            config = await database.turn_configs.get(database, turn.turn_config)
            try:
                model = await self.endpoints.resolve(
                    turn.model, config.config, agent=config.agent, variant=turn.variant
                )
            except UsageError as error:
                return error
            self.resolved.put(key, (now, model))
        return self.attempts.without_refused_files(model)

    async def register(
        self,
        request: GenerateRequest,
        attempt: Attempt,
        asked: TurnStatus,
        model: ResolvedModel | UsageError,
        resolved: Resolved,
        unreadable: ConfigError | None,
    ) -> _Begun | ShellStep | SubtaskStep | FilesStep | CommittedStep | StepResult | BackoffPending | UsageError:
        """`model`: that of the turn when `asked`; raises _TurnChanged if it has another one now, and _Unresolved
        for prompts that are not `resolved`, unless they are `unreadable`."""
        async with attempt.registration() as journal:
            view = await self.views.begin(journal, request, attempt, resolved, model)
            if isinstance(view, Unresolved):
                if unreadable is not None:
                    return unreadable
                raise _Unresolved(view)
            if not isinstance(view, StepView):
                return view
            turn, config = attempt.turn_status, view.turn_config
            self.turns.put(request.turn, turn)
            if (turn.model, turn.variant, turn.turn_config) != (asked.model, asked.variant, asked.turn_config):
                raise _TurnChanged(turn)
            if isinstance(model, UsageError):
                return model
            if not request.unchecked and await self.has_to_be_compacted(journal, view, model):
                return StepResult(finish=FINISH_FULL)
            toolset = self.toolsets.of(config)
            thoughtless = attempt.status.thoughtless
            built = self.requests.build(request, view, model, toolset, thoughtless=thoughtless)
            attempts.store(journal, attempt.generation.id, attempt.fence, built.digest, built.form)
            return _Begun(view, model, toolset, built.question, built.prefix)

    async def has_to_be_compacted(self, journal: Journal, view: StepView, model: ResolvedModel) -> bool:
        """Whether to compact first: a person wants it, or the context is full. After a failure, only once the context
        has grown or another model is asked."""
        if view.compacts:
            return True
        settings = view.turn_config.config.compaction
        tokens = context_tokens(view.transcript, view.cleared, view.freed)
        if not settings.auto or not is_full(view.transcript, model.usable(settings), tokens):
            return False
        newest = await compactions.newest_try(journal, journal.session)
        return newest is None or not newest.holds_for(model.name, tokens)

    def step_result(self, request: GenerateRequest, answer: StoredAnswer, rules: Rulesets) -> StepResult:
        """The calls are judged by the turn's rules and the live grants."""
        evaluator, ordered = PermissionEvaluator(rules, answer.live), is_ordered(answer.calls)
        flaw = find_flaw(answer.body.finish, text=answer.has_text, calls=bool(answer.calls))
        return StepResult(
            finish=answer.body.finish,
            calls=tuple(evaluator.open_calls(answer.calls, self.describe)),
            has_text=answer.has_text if request.text_only and not ordered else None,
            flaw=flaw,
            explanation=answer.body.explanation if flaw else "",
            cut=answer.is_cut,
            ordered=ordered,
        )


def _key_of(turn: TurnStatus) -> _ModelKey:
    return turn.turn_config, turn.model, turn.variant
