"""Questions apart from a session's turns: its title (opencode.md 6.6), and what it has changed, in the style of a pull
request (1.1). The purpose says which; no turn waits for the answer, and nothing fails for lack of it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.error_boundary import storable_text
from activities.model.answer import AnswerStream
from activities.model.attempt import Attempt, Attempts
from activities.model.compaction_plan import UNKNOWN_WINDOW
from activities.model.compaction_prompt import change_request, escape_tags
from activities.model.context_fill import answers_of
from activities.model.context_split import CHARS_PER_TOKEN, estimate_text
from activities.model.endpoints import EndpointResolver
from activities.model.port import SystemInput, UserInput
from activities.model.reservation import reserve_aside
from activities.model.system_prompt import agent_prompt
from activities.store import asides, budgets, prompts, turns
from activities.store.attempts import CompactionForm, RequestForm
from activities.store.statements import RowReader
from activities.store.transcript_cache import TranscriptCache
from activities.store.turns import TurnStatus
from prompts import render_prompt
from workflows.domain.agents.agent import Agent
from workflows.domain.agents.built_in import SUMMARY, TITLE
from workflows.domain.budgets import BudgetLimits
from workflows.domain.config.agent_selection import hidden_agent
from workflows.domain.config.config import Config
from workflows.domain.errors import UsageError
from workflows.domain.generation import Generation, Purpose
from workflows.domain.ids import SessionId, TurnId
from workflows.domain.messages import ContextSummary, Transcript
from workflows.domain.titles import title_of_answer
from workflows.domain.wire import AsideRequest

AGENTS: Final = {Purpose.TITLE: TITLE, Purpose.SUMMARY: SUMMARY}
MAX_TITLED: Final = 20_000  # characters of what the person has written; a small model takes them
_MAX_SUMMED_UP: Final = 200_000  # characters of the conversation: a few sentences are not worth more
_MOST_REASON: Final = 2_000  # characters


class _View(NamedTuple):
    """`id`: the turn's. What is asked about: what the person has written (`texts`), or the `transcript` up to the
    newest answer."""

    id: TurnId
    turn: TurnStatus
    config: Config
    limits: Sequence[BudgetLimits]
    texts: Sequence[str]
    transcript: Transcript


class AsideAsker:
    """Asks while a request is open, and stores the answer once."""

    def __init__(
        self, attempts: Attempts, answers: AnswerStream, endpoints: EndpointResolver, transcripts: TranscriptCache[Any]
    ) -> None:
        self.attempts = attempts
        self.answers = answers
        self.endpoints = endpoints
        self.transcripts = transcripts

    @activity.defn(name="holdfast.model.title")
    async def title(self, request: AsideRequest) -> None:
        """Raises as `ask`."""
        await self.ask(request)

    @activity.defn(name="holdfast.model.summarize")
    async def summarize(self, request: AsideRequest) -> None:
        """Raises as `ask`."""
        await self.ask(request)

    async def ask(self, request: AsideRequest) -> None:
        """Raises as `AnswerStream.get` and `reserve_aside`."""
        generation = Generation(id=request.generation, purpose=request.purpose)
        async with self.attempts.start(request, generation) as attempt, _record_failure(attempt):
            view = await self.begin(request, attempt)
            if view is None:
                return
            agent = hidden_agent(AGENTS[request.purpose], view.config)
            of_agent = await self.endpoints.named_by(agent, view.config, view.turn.model)
            named = of_agent or view.config.small_model or view.turn.model
            model = await self.endpoints.resolve(named, view.config, agent=agent)
            form = RequestForm(model=model.name, release=self.attempts.release, turn=view.id)
            if request.purpose is Purpose.TITLE:
                form = form.model_copy(update={"prompts": len(view.texts)})
                messages = title_messages(agent, view.texts)
            else:
                window = model.usable(view.config.compaction) or UNKNOWN_WINDOW
                room = min(window * CHARS_PER_TOKEN, _MAX_SUMMED_UP)
                form = _with_context(form, view.transcript, room)
                messages = change_messages(agent, view.transcript, room)
            context = estimate_text("".join(each.content for each in messages if isinstance(each.content, str)))
            await reserve_aside(attempt, view.limits, model, context)
            question = model.request(messages)
            await attempt.record_request(question, form)
            answer = await self.answers.get(attempt, model, question, agent.name)
            title = title_of_answer(answer.text) if request.purpose is Purpose.TITLE else None
            await attempt.store(answer.model_copy(update={"title": title}))

    async def begin(self, request: AsideRequest, attempt: Attempt) -> _View | None:
        """Register the attempt and read what it asks about; None if there is nothing to ask any more. Raises as
        `Attempt.begin`."""
        async with attempt.registration() as journal:
            turn = await asides.requested_for(journal, request.generation)
            if turn is None:
                return None
            begun, status, (texts, transcript), limits = await asyncio.gather(
                attempt.begin(journal),
                turns.turn_status(journal, turn),
                self._read(journal, request.session, request.purpose),
                budgets.limits_of_session(journal, request.session),
            )
            if begun is not None or (request.purpose is Purpose.SUMMARY and not transcript):
                return None
            config = (await turns.turn_config(journal, status.turn_config)).config
            return _View(turn, status, config, limits, texts, transcript)

    async def _read(self, reader: RowReader, session: SessionId, purpose: Purpose) -> tuple[Sequence[str], Transcript]:
        if purpose is Purpose.TITLE:
            return await prompts.texts(reader, session), ()
        transcript = await self.transcripts.read(reader, session)
        answered = answers_of(transcript)
        return (), transcript[: transcript.index(answered[-1]) + 1] if answered else ()


def title_messages(agent: Agent, texts: Sequence[str]) -> tuple[SystemInput, UserInput]:
    """What the person has written, without its middle if it is long."""
    text, half = escape_tags("\n\n".join(texts)), MAX_TITLED // 2
    if len(text) > MAX_TITLED:
        text = render_prompt("title/left_out", beginning=text[:half], end=text[-half:])
    return SystemInput(content=agent_prompt(agent)), UserInput(content=render_prompt("title/request", text=text))


def change_messages(agent: Agent, conversation: Transcript, room: int) -> tuple[SystemInput, UserInput]:
    """`room`: characters of both."""
    system = agent_prompt(agent)
    return SystemInput(content=system), UserInput(content=change_request(conversation, room - len(system)))


def _with_context(form: RequestForm, transcript: Transcript, room: int) -> RequestForm:
    first, last = transcript[0], transcript[-1]
    made = CompactionForm(turn=last.turn, step=last.step, room=room)
    return form.model_copy(
        update={"summary": first.id if isinstance(first, ContextSummary) else None, "compaction": made}
    )


@asynccontextmanager
async def _record_failure(attempt: Attempt) -> AsyncIterator[None]:
    """Record what no other attempt mends, for who has asked."""
    try:
        yield
    except (UsageError, ApplicationError) as error:
        if isinstance(error, UsageError) or error.non_retryable:
            text = error.message if isinstance(error, ApplicationError) else str(error)
            reason = storable_text(attempt.shared.redactor.text(text))[:_MOST_REASON]
            async with attempt.finishing_journal() as journal:
                await journal.locked()
                asides.fail(journal, attempt.generation, reason)
        raise
