"""What a step sends to its model: read and recorded as its attempt begins."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TypeAlias

from activities.files.named_files import ResolvedReferences
from activities.model.attempt import Attempt
from activities.model.context_fill import answers_of, begins_anew, context_tokens
from activities.model.endpoints import ResolvedModel
from activities.model.reminders import due_reminders, mode_reminder, reminder, reminders_of_summary
from activities.model.request_memory import RequestMemory
from activities.store import budgets, calls, generations, prompts, step_rows, tasks, turns
from activities.store.budgets import BudgetRow
from activities.store.generations import BackoffPending, Suspended, TurnOver
from activities.store.journal import Journal
from activities.store.model_answers import StoredAnswer
from activities.store.step_rows import OrderedCommands, OrderedSubtask, PruningRow, StepRow
from activities.store.transcript_cache import TranscriptCache
from workflows.domain.budgets import BudgetLimits, OnLimit
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.context.prune import LARGE, SmallWindow, cleared_calls
from workflows.domain.errors import UsageError
from workflows.domain.ids import MessageId, PartId, SessionId
from workflows.domain.messages import AssistantMessage, Reminder, ReminderName, Transcript, UserMessage
from workflows.domain.permissions.loop_guard import LIMIT, ROUND, Recent, count_equal
from workflows.domain.permissions.rulesets import Rulesets
from workflows.domain.prompt import PromptContent
from workflows.domain.wire import FINISH_LIMIT, FINISH_STOPPED, FINISH_SUSPENDED, GenerateRequest, StepResult

Resolved: TypeAlias = Mapping[MessageId, ResolvedReferences]  # by prompts


@dataclass(frozen=True)
class StepView:
    """What a step sends to its model; `cleared` and `freed` as in `context_tokens`, `pruned`: the last call that is
    cleared. `reminders_seal` as in `MessageCompleted`, `recent` as in `loop_digest`. `compacts`: a person wants it to
    be shorter first. `limits`: of the budgets that count it. `system`: the turn's own instructions.
    `parent`: the session that has started this one for a subagent."""

    transcript: Transcript
    memory: RequestMemory
    cleared: frozenset[PartId]
    freed: int
    pruned: PartId | None
    turn_config: TurnConfig
    reminders_seal: str | None
    recent: Recent = ()
    compacts: bool = False
    limits: tuple[BudgetLimits, ...] = ()
    system: str | None = None
    parent: SessionId | None = None


@dataclass(frozen=True)
class SubtaskStep:
    """No model is asked: a prompt has a subtask that comes first."""

    subtask: OrderedSubtask
    turn_config: TurnConfig


@dataclass(frozen=True)
class ShellStep:
    """No model is asked: a prompt's text is to hold the outputs of commands."""

    ordered: OrderedCommands
    turn_config: TurnConfig


@dataclass(frozen=True)
class FilesStep:
    """No model is asked: prompts name files that are read first. `reminders_seal` as in `StepView`."""

    resolved: Resolved
    turn_config: TurnConfig
    reminders_seal: str | None


@dataclass(frozen=True)
class Unresolved:
    """Prompts of the step that refer to something: it is looked for without a lock, and then all begins again."""

    prompts: Mapping[MessageId, PromptContent]
    turn_config: TurnConfig


@dataclass(frozen=True)
class CommittedStep:
    """An earlier attempt has stored the step's answer; `rules`: of its turn."""

    answer: StoredAnswer
    rules: Rulesets


class StepViews:
    """Reads steps' views; keeps the transcripts between steps."""

    def __init__(self, today: Callable[[], date]) -> None:
        self.today = today
        self.transcripts = TranscriptCache(RequestMemory)

    async def begin(
        self,
        journal: Journal,
        request: GenerateRequest,
        attempt: Attempt,
        resolved: Resolved,
        model: ResolvedModel | UsageError,
    ) -> StepView | ShellStep | SubtaskStep | FilesStep | Unresolved | CommittedStep | StepResult | BackoffPending:
        """Register the attempt, take the steered prompts, and read the view; else why the model is not to be asked.

        A step's reminders are recorded before its first request: a retry sends the same. `resolved`: what
        prompts refer to that were looked at; `model`: of the turn, as far as is known.

        Raises as `Attempt.begin`.
        """
        begun, steered, transcript, row, recent = await asyncio.gather(
            attempt.begin(journal),
            prompts.steered(journal),
            self.transcripts.read(journal, request.session),
            step_rows.read(journal, request.session, request.turn, request.step),
            calls.recent_results(journal, request.turn),
        )
        if begun is not None:
            return await _not_asked(journal, request, begun)
        _follow(journal, attempt, transcript)
        last = attempt.turn_status.last_step
        if last is not None and request.step >= last and not request.text_only:
            return StepResult(finish=FINISH_LIMIT, last_step=last)
        config = await turns.turn_config(journal, attempt.turn_status.turn_config)
        if row.shell is not None:
            return ShellStep(row.shell, config)
        if row.subtask is not None:
            return SubtaskStep(row.subtask, config)
        _take(journal, attempt, request, steered)
        referring = await prompts.referring(journal, request.session) if row.refers or steered else {}
        if not referring.keys() <= resolved.keys():
            return Unresolved(referring, config)
        files = _with_files(journal, {prompt: resolved[prompt] for prompt in referring})
        situation = {"asks": not files, "prompted": bool(steered), "going_round": count_equal(recent) % ROUND >= LIMIT}
        due = await self.due_reminders(request, attempt, journal, transcript, config, row, **situation)
        reminded = _remind(journal, attempt, due)
        if files:
            return FilesStep(files, config, reminded)
        if due or steered or referring:
            transcript = await self.transcripts.read(journal, request.session)
        view = await self._view(journal, request, transcript, config, row, reminded, model)
        return replace(view, recent=recent)

    async def _view(
        self,
        journal: Journal,
        request: GenerateRequest,
        transcript: Transcript,
        config: TurnConfig,
        row: StepRow,
        reminded: str | None,
        model: ResolvedModel | UsageError,
    ) -> StepView:
        pruned = row.pruning
        if config.config.compaction.prune:
            small = None
            if isinstance(model, ResolvedModel) and (model.facts.context or LARGE) < LARGE:
                used = context_tokens(transcript, cleared_calls(transcript, pruned.call if pruned else None))
                small = SmallWindow(model.usable(config.config.compaction), used)
            pruned = step_rows.advance_pruning(journal, request.turn, request.step, transcript, pruned, small)
        last_cleared = pruned.call if pruned else None
        return StepView(
            transcript,
            self.transcripts.companion(request.session),
            cleared_calls(transcript, last_cleared),
            pruned.tokens if pruned and _is_new(pruned, transcript) else 0,
            last_cleared,
            config,
            reminded,
            compacts=row.compacts,
            limits=row.limits,
            system=row.system,
            parent=row.parent,
        )

    async def due_reminders(
        self,
        request: GenerateRequest,
        attempt: Attempt,
        journal: Journal,
        transcript: Transcript,
        config: TurnConfig,
        row: StepRow,
        *,
        asks: bool,
        prompted: bool,
        going_round: bool,
    ) -> tuple[Reminder, ...]:
        """The reminders for the step's first request, and for the first one after a summary. `asks`: a model."""
        if attempt.status.reminders_seal is not None:
            return ()
        owing = request.turn if config.format is not None else None
        situation = {"prompted": prompted, "reports": row.reports, "going_round": going_round}
        by_steps = request.text_only or any(limits.steps is not None for limits in row.limits)
        rows = await budgets.of_session(journal, request.session) if asks and row.limits and by_steps else ()
        first = asks and [each.turn for each in answers_of(transcript)[-1:] if each.body.tokens.total] != [request.turn]
        follows_stop, run = await turns.opening(journal, request.turn, request.step) if first else (False, None)
        due = (
            *([reminder(ReminderName.STOPPED)] if follows_stop else ()),
            *([reminder(ReminderName.SCHEDULED, **run)] if run else ()),
            *mode_reminder(transcript, config, request.session),
            *(_end_reminders(request, rows, config) if asks else ()),
            *due_reminders(transcript, self.today(), owing=owing, **situation),
        )
        if not begins_anew(transcript):
            return due
        todos, background, newest = await asyncio.gather(
            calls.todos(journal, request.session),
            tasks.in_background(journal),
            calls.of_step(journal, request.turn, request.step - 1),
        )
        unseen = [] if answers_of(transcript) else newest
        return (*reminders_of_summary(transcript, todos, background, unseen, prompted=prompted), *due)


def _end_reminders(request: GenerateRequest, rows: Sequence[BudgetRow], config: TurnConfig) -> list[Reminder]:
    """That this answer is the turn's last one, and why; or that two with tools are left, as far as steps limit them."""
    if request.text_only:
        steps = f"This turn has used all of its steps ({request.max_steps or request.step})"
        why = next(filter(None, (row.spent for row in rows)), steps)
        name = ReminderName.LAST_STEP if config.format is None else ReminderName.LAST_STEP_STRUCTURED_OUTPUT
        return [reminder(name, why=why)]
    by_person = next((row.on_limit for row in rows if row.on_limit), None)
    ends = [row for row in rows if (by_person or row.limits.on_limit) is OnLimit.FINISH]
    left = [row.limits.steps - row.steps for row in ends if row.limits.steps is not None]
    left += [] if request.max_steps is None else [request.max_steps - request.step]
    return [reminder(ReminderName.TWO_LEFT)] if min(left, default=0) == 2 else []


def _follow(journal: Journal, attempt: Attempt, transcript: Transcript) -> None:
    """Have the step's answer sort behind the newest answer and what follows that."""
    for entry in reversed(transcript):
        if isinstance(entry, UserMessage | AssistantMessage):
            attempt.follow(journal, entry.id)
        if isinstance(entry, AssistantMessage):
            return


def _take(journal: Journal, attempt: Attempt, request: GenerateRequest, steered: list[MessageId]) -> None:
    """Have the step answer the steered prompts."""
    for prompt in steered:
        prompts.take(journal, prompt, request.turn, request.step)
        attempt.follow(journal, prompt)


def _with_files(journal: Journal, resolved: Resolved) -> Resolved:
    """A prompt that names no file is done with."""
    for prompt, found in resolved.items():
        if not found.files:
            prompts.resolve(journal, prompt, found.agents)
    return {prompt: found for prompt, found in resolved.items() if found.files}


def _is_new(pruning: PruningRow, transcript: Transcript) -> bool:
    """Whether no answer has counted the context since."""
    since = (each for each in answers_of(transcript) if each.turn == pruning.turn and each.step >= pruning.step)
    return not any(answer.body.tokens.context for answer in since)


def _remind(journal: Journal, attempt: Attempt, due: tuple[Reminder, ...]) -> str | None:
    """Returns the seal of all that the step's requests tell."""
    recorded = attempt.status.reminders_seal
    attempt.reminders_seal = generations.remind(journal, attempt.generation.id, due) if due else recorded
    return attempt.reminders_seal


async def _not_asked(
    journal: Journal, request: GenerateRequest, begun: StoredAnswer | TurnOver | Suspended | BackoffPending
) -> CommittedStep | StepResult | BackoffPending:
    """The answer that an earlier attempt has stored, or why there is none now."""
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
            return CommittedStep(begun, config.rules)
