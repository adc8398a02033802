"""Model.summarize: what a session has changed, in the style of a pull request (opencode.md 1.1)."""

import asyncio
from typing import Any, Final, NamedTuple

from temporalio import activity

from activities.model.answer import AnswerStream
from activities.model.aside_failures import record_failure
from activities.model.attempt import Attempt, Attempts
from activities.model.compaction_plan import UNKNOWN_WINDOW, summary_room
from activities.model.compaction_prompt import change_request
from activities.model.context_fill import answers_of
from activities.model.context_split import estimate_text
from activities.model.endpoints import EndpointResolver, ResolvedModel
from activities.model.port import SystemInput, UserInput
from activities.model.reservation import reserve_aside
from activities.model.system_prompt import agent_prompt
from activities.store import budgets, change_summaries, turns
from activities.store.attempts import CompactionForm, RequestForm
from activities.store.transcript_cache import TranscriptCache
from activities.store.turns import TurnStatus
from workflows.domain.agents.agent import Agent
from workflows.domain.agents.built_in import SUMMARY
from workflows.domain.budgets import BudgetLimits
from workflows.domain.config.agent_selection import hidden_agent
from workflows.domain.config.config import Config
from workflows.domain.generation import Generation, Purpose
from workflows.domain.ids import TurnId
from workflows.domain.messages import ContextSummary, Transcript
from workflows.domain.wire import AsideRequest

MAX_CHARS: Final = 200_000  # of the conversation: a few sentences are not worth more


class _View(NamedTuple):
    """`id`: the turn's. `transcript`: up to the newest answer."""

    id: TurnId
    turn: TurnStatus
    config: Config
    transcript: Transcript
    limits: tuple[BudgetLimits, ...]


class ChangeSummarizer:
    """Asks once for each request of a person; the answer is the summary."""

    def __init__(
        self, attempts: Attempts, answers: AnswerStream, endpoints: EndpointResolver, transcripts: TranscriptCache[Any]
    ) -> None:
        self.attempts = attempts
        self.answers = answers
        self.endpoints = endpoints
        self.transcripts = transcripts

    @activity.defn(name="holdfast.model.summarize")
    async def summarize(self, request: AsideRequest) -> None:
        """Raises as `AnswerStream.get` and `reserve_aside`."""
        generation = Generation(id=request.generation, purpose=Purpose.SUMMARY)
        async with self.attempts.start(request, generation) as attempt, record_failure(attempt):
            view = await self.begin(request, attempt)
            if view is None:
                return
            agent = hidden_agent(SUMMARY, view.config)
            of_agent = await self.endpoints.named_by(agent, view.config, view.turn.model)
            named = of_agent or view.config.small_model or view.turn.model
            model = await self.endpoints.resolve(named, view.config, agent=agent)
            window = model.usable(view.config.compaction) or UNKNOWN_WINDOW
            room = min(summary_room(window, 0, is_larger=False), MAX_CHARS)
            messages = change_messages(agent, view.transcript, room)
            context = estimate_text("".join(each.content for each in messages if isinstance(each.content, str)))
            await reserve_aside(attempt, view.limits, model, context)
            question = model.request(messages)
            await attempt.record_request(question, _form(view, model, room, self.attempts.release))
            await attempt.store(await self.answers.get(attempt, model, question, agent.name))

    async def begin(self, request: AsideRequest, attempt: Attempt) -> _View | None:
        """Register the attempt and read what it asks about; None if there is nothing to ask any more. Raises as
        `Attempt.begin`."""
        async with attempt.registration() as journal:
            turn = await change_summaries.requested_for(journal, request.generation)
            if turn is None:
                return None
            begun, status, transcript, limits = await asyncio.gather(
                attempt.begin(journal),
                turns.turn_status(journal, turn),
                self.transcripts.read(journal, request.session),
                budgets.limits_of_session(journal, request.session),
            )
            answered = answers_of(transcript)
            if begun is not None or not answered:
                return None
            config = await turns.turn_config(journal, status.turn_config)
            until_answer = transcript[: transcript.index(answered[-1]) + 1]
            return _View(turn, status, config.config, until_answer, limits)


def change_messages(agent: Agent, conversation: Transcript, room: int) -> tuple[SystemInput, UserInput]:
    """`room`: characters of both."""
    system = agent_prompt(agent)
    return SystemInput(content=system), UserInput(content=change_request(conversation, room - len(system)))


def _form(view: _View, model: ResolvedModel, room: int, release: str) -> RequestForm:
    first, last = view.transcript[0], view.transcript[-1]
    return RequestForm(
        model=model.name,
        release=release,
        summary=first.id if isinstance(first, ContextSummary) else None,
        turn=view.id,
        compaction=CompactionForm(turn=last.turn, step=last.step, room=room),
    )
