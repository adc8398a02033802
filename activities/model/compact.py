"""Model.compact: a summary in place of the beginning of a session's context."""

import asyncio
from typing import Final, NamedTuple

from pydantic import JsonValue
from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.model.answer import AnswerStream
from activities.model.attempt import Attempt, Attempts
from activities.model.compaction_prompt import compaction_request
from activities.model.context_split import ContextSplit, estimate_tokens, split_context
from activities.model.endpoints import EndpointResolver, ResolvedModel
from activities.model.port import SystemInput, UserInput
from activities.store import calls, turns
from activities.store.compactions import NewCompaction
from activities.store.generations import NewAnswer, StoredAnswer, Suspended, TurnOver
from activities.store.transcript_cache import TranscriptCache
from activities.store.turns import TurnStatus
from prompts import render_prompt
from workflows.domain.agents.built_in import COMPACTION
from workflows.domain.config.config import AgentSettings, Compaction
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.context_window import overflows, usable_tokens
from workflows.domain.generation import Generation, Purpose
from workflows.domain.messages import AssistantMessage, ContextSummary, Transcript
from workflows.domain.wire import CompactRequest, CompactResult, CompactState

_CHARS_PER_TOKEN: Final = 4
_UNKNOWN_WINDOW: Final = 32_000  # tokens: of a model without a known limit that has refused a request as too long


class _View(NamedTuple):
    turn: TurnStatus
    config: TurnConfig
    transcript: Transcript
    todos: list[JsonValue]


class Compactor:
    """Asks for a summary, and stores it once with the mark up to which it stands."""

    def __init__(
        self, attempts: Attempts, answers: AnswerStream, endpoints: EndpointResolver, transcripts: TranscriptCache
    ) -> None:
        self.attempts = attempts
        self.answers = answers
        self.endpoints = endpoints
        self.transcripts = transcripts

    @activity.defn(name="holdfast.model.compact")
    async def compact(self, request: CompactRequest) -> CompactResult:
        """Raises ApplicationError of the type NoSummary for an answer that is none, besides those of `Attempt`."""
        generation = Generation(id=request.generation, purpose=Purpose.COMPACTION)
        async with self.attempts.start(request, generation) as attempt:
            view = await self.begin(request, attempt)
            if isinstance(view, CompactState):
                return CompactResult(state=view)
            config, settings = view.config.config, view.config.config.compaction
            agent = COMPACTION.with_settings(config.agent.get(COMPACTION.name, AgentSettings()), AgentSettings())
            asked = await self.endpoints.resolve(view.turn.model, config)
            split = split_context(view.transcript, _window(asked, settings), _with_tail(settings, request.tried))
            if split is None or not settings.auto:
                return CompactResult(state=CompactState.NOTHING)
            model = await self.endpoints.resolve(agent.model or view.turn.model, config, agent=agent)
            room = _window(model, settings) * _CHARS_PER_TOKEN >> request.tried
            question = model.request(
                (
                    SystemInput(content=render_prompt(f"agents/{agent.prompt_file}")),
                    UserInput(content=compaction_request(split.head, view.todos, room)),
                ),
            )
            answer = await self.answers.get(attempt, model, question, agent.name)
            stored = await attempt.store(_summarised(answer, split, view.transcript))
        return CompactResult(state=CompactState.STOPPED if isinstance(stored, TurnOver) else CompactState.DONE)

    async def begin(self, request: CompactRequest, attempt: Attempt) -> _View | CompactState:
        """Register the attempt and read the view; a state if the model is not to be asked."""
        async with attempt.registration() as journal:
            turn, transcript, todos = await asyncio.gather(
                turns.turn_status(journal, request.turn),
                self.transcripts.read(journal, request.session),
                calls.todos(journal, request.session),
            )
            if turn.over:
                return CompactState.STOPPED
            match await attempt.begin(journal):
                case TurnOver():
                    return CompactState.STOPPED
                case Suspended():
                    return CompactState.SUSPENDED
                case StoredAnswer():
                    return CompactState.DONE
            return _View(turn, await turns.turn_config(journal, turn.turn_config), transcript, todos)


def is_full(transcript: Transcript, model: ResolvedModel, config: TurnConfig) -> bool:
    """Whether the newest answer's tokens leave no room for another; not if they are of the context before a summary."""
    settings = config.config.compaction
    first = transcript[0] if transcript else None
    answer = next((entry for entry in reversed(transcript) if isinstance(entry, AssistantMessage)), None)
    if answer is None or (isinstance(first, ContextSummary) and first.newest == answer.id):
        return False
    return settings.auto and overflows(answer.body.tokens, _usable(model, settings))


def _usable(model: ResolvedModel, settings: Compaction) -> int:
    facts = model.facts
    return usable_tokens(
        context=facts.context, max_input=facts.max_input, max_output=facts.max_output, compaction=settings
    )


def _window(model: ResolvedModel, settings: Compaction) -> int:
    return _usable(model, settings) or _UNKNOWN_WINDOW


def _with_tail(settings: Compaction, tried: int) -> Compaction:
    """What was compacted and still did not fit keeps no tail."""
    return settings.model_copy(update={"tail_turns": 0}) if tried else settings


def _summarised(answer: NewAnswer, split: ContextSplit, transcript: Transcript) -> NewAnswer:
    """The answer as the summary of the head. Raises ApplicationError for one that is none."""
    if not answer.text.strip() or answer.body.finish != "stop":
        reason = f"{answer.body.model} gave no summary (finish reason: {answer.body.finish})."
        raise ApplicationError(reason, type="NoSummary", non_retryable=True)
    last, answers = split.head[-1], [entry for entry in transcript if isinstance(entry, AssistantMessage)]
    compaction = NewCompaction(
        turn=last.turn,
        step=last.step,
        newest=answers[-1].id,
        before=answers[-1].body.tokens.context or estimate_tokens(transcript),
        after=len(answer.text) // _CHARS_PER_TOKEN + estimate_tokens(split.tail),
    )
    return answer.model_copy(update={"compaction": compaction})
