"""Model.compact: a summary in place of the beginning of a session's context."""

import asyncio
from typing import Final, NamedTuple

from pydantic import JsonValue
from temporalio import activity

from activities.model.answer import AnswerStream
from activities.model.attempt import Attempt, Attempts, rest_of_pause
from activities.model.compaction_prompt import compaction_request
from activities.model.context_split import ContextSplit, estimate_tokens, split_context
from activities.model.endpoints import EndpointResolver, ResolvedModel
from activities.model.port import Finish, SystemInput, UserInput
from activities.store import calls, compactions, turns
from activities.store.compactions import NewCompaction
from activities.store.generations import BackoffPending, NewAnswer, StoredAnswer, Suspended, TurnOver
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
_UNUSABLE: Final = (Finish.LENGTH, Finish.CONTENT_FILTER)
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
        """Raises as `AnswerStream.get`."""
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
            summarised = _summarised(answer, split, view.transcript)
            stored = await attempt.store(summarised)
        if isinstance(stored, TurnOver):
            return CompactResult(state=CompactState.STOPPED)
        return CompactResult(state=CompactState.FAILED if summarised.compaction is None else CompactState.DONE)

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
                case BackoffPending() as pending:
                    raise rest_of_pause(pending)
                case StoredAnswer():
                    newest = await compactions.newest(journal, request.session)
                    done = newest is not None and newest.generation == request.generation
                    return CompactState.DONE if done else CompactState.FAILED
            return _View(turn, await turns.turn_config(journal, turn.turn_config), transcript, todos)


def begins_anew(transcript: Transcript) -> bool:
    """Whether no answer was asked for since the newest summary, with which earlier reminders went."""
    first, answers = transcript[0] if transcript else None, _answers(transcript)
    return isinstance(first, ContextSummary) and (not answers or answers[-1].id == first.newest)


def is_full(transcript: Transcript, model: ResolvedModel, config: TurnConfig) -> bool:
    """Whether the newest answer's tokens leave no room for another.

    Answers from before a summary do not count; nor does any where the first one behind it was full already: then
    instructions and tools take the room, and no summary helps.
    """
    settings, usable = config.config.compaction, _usable(model, config.config.compaction)
    first = transcript[0] if transcript else None
    answers = _answers(transcript)
    if isinstance(first, ContextSummary):
        known = [answer.id for answer in answers]
        answers = answers[known.index(first.newest) + 1 if first.newest in known else 0 :]
        if answers and overflows(answers[0].body.tokens, usable):
            return False
    return settings.auto and bool(answers) and overflows(answers[-1].body.tokens, usable)


def _answers(transcript: Transcript) -> list[AssistantMessage]:
    return [entry for entry in transcript if isinstance(entry, AssistantMessage)]


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
    """The answer as the summary of the head; unchanged if it is none, for it is paid all the same."""
    if not answer.text.strip() or answer.body.finish in _UNUSABLE:
        return answer
    first, last, answers = transcript[0], split.head[-1], _answers(transcript)
    compaction = NewCompaction(
        turn=last.turn,
        step=last.step,
        newest=answers[-1].id,
        replaces=first.id if isinstance(first, ContextSummary) else None,
        before=answers[-1].body.tokens.context or estimate_tokens(transcript),
        after=len(answer.text) // _CHARS_PER_TOKEN + estimate_tokens(split.tail),
    )
    return answer.model_copy(update={"compaction": compaction})
