"""Model.title: a session's title, asked for apart from its turns (opencode.md 6.6)."""

import asyncio
from collections.abc import Sequence
from typing import Final, NamedTuple

from temporalio import activity

from activities.model.answer import AnswerStream
from activities.model.aside_failures import record_failure
from activities.model.attempt import Attempt, Attempts
from activities.model.compaction_prompt import escape_tags
from activities.model.context_split import estimate_text
from activities.model.endpoints import EndpointResolver
from activities.model.port import SystemInput, UserInput
from activities.model.reservation import reserve_aside
from activities.model.system_prompt import agent_prompt
from activities.store import budgets, prompts, titles, turns
from activities.store.attempts import RequestForm
from activities.store.turns import TurnStatus
from prompts import render_prompt
from workflows.domain.agents.agent import Agent
from workflows.domain.agents.built_in import TITLE
from workflows.domain.budgets import BudgetLimits
from workflows.domain.config.agent_selection import hidden_agent
from workflows.domain.config.config import Config
from workflows.domain.generation import Generation, Purpose
from workflows.domain.ids import TurnId
from workflows.domain.titles import title_of_answer
from workflows.domain.wire import AsideRequest

MAX_CHARS: Final = 20_000  # of what the person has written; a small model takes it
_INSTRUCTIONS: Final = 1_000  # tokens


class _View(NamedTuple):
    """`id`: the turn's."""

    id: TurnId
    turn: TurnStatus
    config: Config
    texts: Sequence[str]
    limits: Sequence[BudgetLimits]


class Titler:
    """Asks for a title while its request is open, and stores it once. Nothing else fails for lack of a title."""

    def __init__(self, attempts: Attempts, answers: AnswerStream, endpoints: EndpointResolver) -> None:
        self.attempts = attempts
        self.answers = answers
        self.endpoints = endpoints

    @activity.defn(name="holdfast.model.title")
    async def title(self, request: AsideRequest) -> None:
        """Raises as `AnswerStream.get` and `reserve_aside`."""
        generation = Generation(id=request.generation, purpose=Purpose.TITLE)
        async with self.attempts.start(request, generation) as attempt, record_failure(attempt):
            view = await self.begin(request, attempt)
            if view is None:
                return
            agent = hidden_agent(TITLE, view.config)
            of_agent = await self.endpoints.named_by(agent, view.config, view.turn.model)
            named = of_agent or view.config.small_model or view.turn.model
            model = await self.endpoints.resolve(named, view.config, agent=agent)
            context = _INSTRUCTIONS + estimate_text("".join(view.texts)[:MAX_CHARS])
            await reserve_aside(attempt, view.limits, model, context)
            question = model.request(title_messages(agent, view.texts))
            form = RequestForm(model=model.name, release=self.attempts.release, turn=view.id, prompts=len(view.texts))
            await attempt.record_request(question, form)
            answer = await self.answers.get(attempt, model, question, agent.name)
            await attempt.store(answer.model_copy(update={"title": title_of_answer(answer.text)}))

    async def begin(self, request: AsideRequest, attempt: Attempt) -> _View | None:
        """Register the attempt and read what it asks about; None if there is nothing to ask any more. Raises as
        `Attempt.begin`."""
        async with attempt.registration() as journal:
            turn = await titles.requested_for(journal, request.generation)
            if turn is None:
                return None
            begun, status, texts, limits = await asyncio.gather(
                attempt.begin(journal),
                turns.turn_status(journal, turn),
                prompts.texts(journal, request.session),
                budgets.limits_of_session(journal, request.session),
            )
            if begun is not None:
                return None
            return _View(turn, status, (await turns.turn_config(journal, status.turn_config)).config, texts, limits)


def title_messages(agent: Agent, texts: Sequence[str]) -> tuple[SystemInput, UserInput]:
    """What the person has written, without its middle if it is long."""
    text, half = escape_tags("\n\n".join(texts)), MAX_CHARS // 2
    if len(text) > MAX_CHARS:
        text = render_prompt("title/left_out", beginning=text[:half], end=text[-half:])
    system = agent_prompt(agent)
    return SystemInput(content=system), UserInput(content=render_prompt("title/request", text=text))
