"""Model.compact: a summary in place of the beginning of a session's context."""

import asyncio
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final, NamedTuple

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.error_boundary import storable_text
from activities.failpoints import failpoint
from activities.model.answer import AnswerStream
from activities.model.attempt import Attempt, Attempts, rest_of_pause
from activities.model.compaction_plan import (
    UNKNOWN_WINDOW,
    NoRemedy,
    ShortenedPrompts,
    plan_compaction,
    summariser,
)
from activities.model.compaction_prompt import compaction_request
from activities.model.context_fill import answers_of, begins_anew, context_tokens
from activities.model.context_split import CHARS_PER_TOKEN, ContextSplit, estimate_text, estimate_tokens
from activities.model.endpoints import EndpointResolver, ResolvedModel
from activities.model.port import Finish, ModelRequest, SystemInput, UserInput
from activities.model.reservation import reserve
from activities.model.retry_budget import ProviderPause
from activities.model.system_prompt import agent_prompt
from activities.store import budgets, compaction_requests, compactions, turns
from activities.store.attempts import CompactionForm, RequestForm
from activities.store.commit_retry import retry_while_unavailable
from activities.store.compaction_requests import CompactionRequestRow
from activities.store.compactions import CompactionOutcome, CompactionTry, CompactionTryRow, NewCompaction, NewFailure
from activities.store.generations import BackoffPending, Suspended, TurnOver
from activities.store.journal import WORKER, Journal, session_journal
from activities.store.model_answers import NewAnswer, StoredAnswer
from activities.store.transcript_cache import TranscriptCache
from activities.store.turns import TurnStatus
from workflows.domain.agents.agent import Agent
from workflows.domain.agents.built_in import COMPACTION
from workflows.domain.budgets import BudgetLimits
from workflows.domain.config.agent_selection import hidden_agent
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import UsageError
from workflows.domain.generation import Generation, Purpose
from workflows.domain.messages import ContextSummary, Transcript
from workflows.domain.wire import CompactRequest, CompactResult, CompactState

_MOST_SUMMARY: Final = 8_000  # tokens of an answer without thoughts
_MOST_WORDS: Final = 2_000  # tokens of the prompts that stay word for word beside the notes
_MOST_REASON: Final = 2_000  # characters
_NO_ANSWER: Final = "There is nothing to summarise."
_SECTIONS: Final = ("objective", "work state", "next move")  # of prompts/compaction/request.md; others may be left out
_HEADING: Final = re.compile(r"^\s{0,3}#{1,6}\s*(.*?)[\s:#*]*$", re.MULTILINE)
_UNUSABLE: Final = {
    Finish.LENGTH: "The summary was cut at the limit of its length.",
    Finish.CONTENT_FILTER: "The provider's content filter blocked the summary.",
}
_NOT_SHORTER: Final = "The summary is not shorter than what it would replace."


class _View(NamedTuple):
    """`asked`: a person has asked for it, by these `requests`. `usable`: tokens of the turn's model, fewer than a
    context that it has refused, whatever its configuration says."""

    turn: TurnStatus
    config: TurnConfig
    transcript: Transcript
    requests: list[CompactionRequestRow]
    limits: tuple[BudgetLimits, ...]
    usable: int = 0

    @property
    def asked(self) -> bool:
        return bool(self.requests)

    @property
    def words(self) -> int:
        """How many characters of the prompts stay."""
        return min(_MOST_WORDS, (self.usable or UNKNOWN_WINDOW) // 8) * CHARS_PER_TOKEN


class Compactor:
    """Asks for a summary, and stores it once, with the last step that it covers."""

    def __init__(
        self, attempts: Attempts, answers: AnswerStream, endpoints: EndpointResolver, transcripts: TranscriptCache[Any]
    ) -> None:
        self.attempts = attempts
        self.answers = answers
        self.endpoints = endpoints
        self.transcripts = transcripts

    @activity.defn(name="holdfast.model.compact")
    async def compact(self, request: CompactRequest) -> CompactResult:
        """Raises as `AnswerStream.get` where another attempt may help."""
        try:
            return await self.shorten(request)
        except ProviderPause as pause:
            if not pause.is_long:
                raise
            return CompactResult(state=CompactState.PAUSED, pause=pause.seconds)

    async def shorten(self, request: CompactRequest) -> CompactResult:
        """Raises as above, also for a pause that the run waits out."""
        generation = Generation(id=request.generation, purpose=Purpose.COMPACTION)
        async with self.attempts.start(request, generation) as attempt:
            view = await self.begin(request, attempt)
            if isinstance(view, CompactResult):
                return view
            settings = view.config.config.compaction
            model = await self.endpoints.resolve(view.turn.model, view.config.config)
            tokens = context_tokens(view.transcript)
            usable = model.usable(settings)
            view = view._replace(usable=min(usable or UNKNOWN_WINDOW, tokens) if request.refused else usable)
            tried = CompactionTry(turn=request.turn, step=request.step, model=model.name, tokens=tokens)
            plan = plan_compaction(
                view.transcript,
                view.usable,
                settings.model_copy(update={"auto": settings.auto or view.asked}),
                tried=request.tried,
                refused=request.refused,
            )
            match plan:
                case ContextSplit():
                    return await self.summarise(request, attempt, view, plan, tried)
                case ShortenedPrompts(shown=shown):
                    await self.record(
                        attempt, lambda journal: compactions.shorten_prompts(journal, request.generation, tried, shown)
                    )
                    return CompactResult(state=CompactState.SHORTENED)
                case NoRemedy(off=off):
                    if off:
                        return CompactResult(state=CompactState.OFF)
                    return await self.fail(attempt, NewFailure(tried=tried, reason=_NO_ANSWER, final=True))

    async def begin(self, request: CompactRequest, attempt: Attempt) -> _View | CompactResult:
        """Register the attempt and read the view; a result if there is nothing to do."""
        async with attempt.registration() as journal:
            turn, transcript, found, limits = await asyncio.gather(
                turns.turn_status(journal, request.turn),
                self.transcripts.read(journal, request.session),
                compactions.find_try(journal, request.generation),
                budgets.limits_of_session(journal, request.session),
            )
            if turn.over:
                return CompactResult(state=CompactState.STOPPED)
            if found is not None:
                return _result_of_row(found)
            match await attempt.begin(journal):
                case TurnOver() | StoredAnswer():  # an answer that came late
                    return CompactResult(state=CompactState.STOPPED)
                case Suspended():
                    return CompactResult(state=CompactState.SUSPENDED)
                case BackoffPending() as pending:
                    raise rest_of_pause(pending)
            requests = await compaction_requests.take_undone(journal, request.turn)
            config = await turns.turn_config(journal, turn.turn_config)
            return _View(turn, config, transcript, requests, limits)

    async def summarise(
        self, request: CompactRequest, attempt: Attempt, view: _View, split: ContextSplit, tried: CompactionTry
    ) -> CompactResult:
        try:
            answer = await self.ask(request, attempt, view, split)
        except UsageError as error:
            return await self.fail(attempt, NewFailure(tried=tried, reason=str(error), final=view.asked))
        except ApplicationError as error:
            if not error.non_retryable:
                raise
            reason = storable_text(self.attempts.redactor.text(error.message))[:_MOST_REASON]
            return await self.fail(attempt, NewFailure(tried=tried, reason=reason, final=view.asked))
        outcome = _outcome(answer, split, view, tried, media=not request.refused)
        if isinstance(await attempt.store(answer.model_copy(update={"compaction": outcome})), TurnOver):
            return CompactResult(state=CompactState.STOPPED)
        return _result_of(outcome)

    async def ask(self, request: CompactRequest, attempt: Attempt, view: _View, split: ContextSplit) -> NewAnswer:
        config = view.config.config
        agent = hidden_agent(COMPACTION, config)
        larger = config.holdfast.larger_model
        of_agent = await self.endpoints.named_by(agent, config, view.turn.model)
        named = summariser(view.turn.model, of_agent, larger, request.tried)
        model = await self.endpoints.resolve(named, config, agent=agent)
        room = (model.usable(config.compaction) or UNKNOWN_WINDOW) * CHARS_PER_TOKEN
        messages = compaction_messages(agent, split.head, room, view.requests)
        if request.tried and named != larger:
            # What failed may have been far from filling the window. Behind a summary nothing has failed.
            sent = room if begins_anew(view.transcript) else sum(len(each.content) for each in messages)
            room = sent >> request.tried
            messages = compaction_messages(agent, split.head, room, view.requests)
        question = _bounded(model.request(messages), model)
        await reserve(attempt, view.limits, model, view.transcript, request.turn)
        await attempt.record_request(question, _form(request, view, split, model, room, self.attempts.release))
        return await self.answers.get(attempt, model, question, agent.name)

    async def fail(self, attempt: Attempt, failure: NewFailure) -> CompactResult:
        await self.record(attempt, lambda journal: compactions.store_failure(journal, attempt.generation.id, failure))
        return _result_of(failure)

    async def record(self, attempt: Attempt, write: Callable[[Journal], None]) -> None:
        """Write once, even if an earlier commit went unacknowledged."""

        async def record() -> None:
            request = attempt.request
            async with session_journal(attempt.database, request.session, WORKER, epoch=request.epoch) as journal:
                if await compactions.find_try(journal, attempt.generation.id) is None:
                    write(journal)

        await retry_while_unavailable(record)
        await failpoint("compaction.recorded")


def compaction_messages(
    agent: Agent, head: Transcript, room: int, requests: Iterable[CompactionRequestRow]
) -> tuple[SystemInput, UserInput]:
    """`room`: characters of both."""
    system = agent_prompt(agent)
    focus = "\n\n".join(each.focus for each in requests if each.focus)
    return SystemInput(content=system), UserInput(content=compaction_request(head, room - len(system), focus))


def _form(
    request: CompactRequest, view: _View, split: ContextSplit, model: ResolvedModel, room: int, release: str
) -> RequestForm:
    first, last = view.transcript[0], split.head[-1]
    return RequestForm(
        model=model.name,
        release=release,
        summary=first.id if isinstance(first, ContextSummary) else None,
        turn=request.turn,
        compaction=CompactionForm(
            turn=last.turn, step=last.step, room=room, requests=tuple(each.id for each in view.requests)
        ),
    )


def _bounded(question: ModelRequest, model: ResolvedModel) -> ModelRequest:
    """The output limit covers thoughts as well, so that of a reasoning model stays."""
    if question.max_output is None or model.facts.reasoning:
        return question
    return replace(question, max_output=min(question.max_output, _MOST_SUMMARY))


def _outcome(
    answer: NewAnswer, split: ContextSplit, view: _View, tried: CompactionTry, *, media: bool
) -> NewCompaction | NewFailure:
    """The change that the answer makes; its cost counts in any case."""
    flaw = find_summary_flaw(answer, split.head)
    if flaw is not None:
        return NewFailure(tried=tried, reason=flaw, final=view.asked or flaw == _NOT_SHORTER)
    first, last = view.transcript[0], split.head[-1]
    return NewCompaction(
        tried=tried,
        turn=last.turn,
        step=last.step,
        newest=answers_of(view.transcript)[-1].id,
        media=media,
        words=view.words,
        replaces=first.id if isinstance(first, ContextSummary) else None,
        after=estimate_text(answer.text) + estimate_tokens(split.tail),
    )


def _result_of(outcome: NewCompaction | NewFailure) -> CompactResult:
    if isinstance(outcome, NewCompaction):
        return CompactResult(state=CompactState.DONE)
    return CompactResult(state=CompactState.FAILED, reason=outcome.reason, final=outcome.final)


def _result_of_row(row: CompactionTryRow) -> CompactResult:
    """The result of an earlier attempt."""
    match row.outcome:
        case CompactionOutcome.COMPACTED:
            return CompactResult(state=CompactState.DONE)
        case CompactionOutcome.SHORTENED:
            return CompactResult(state=CompactState.SHORTENED)
        case CompactionOutcome.FAILED:
            return CompactResult(state=CompactState.FAILED, reason=row.reason or "", final=row.final)


def find_summary_flaw(answer: NewAnswer, head: Transcript) -> str | None:
    """Why it cannot stand for `head`, for people."""
    if (text := _UNUSABLE.get(Finish(answer.body.finish))) is not None:
        return f"{text.rstrip('.')}: {answer.body.explanation}." if answer.body.explanation else text
    headings = {match[1].strip(" *").lower() for match in _HEADING.finditer(answer.text)}
    if answer.body.finish != Finish.STOP or not headings.issuperset(_SECTIONS):
        return "The model's answer is not a summary."
    return None if estimate_text(answer.text) < estimate_tokens(head) else _NOT_SHORTER
