"""Builds what a model was sent again, from the records."""

import asyncio
from typing import NamedTuple

from activities.model import sent_pieces, unsent_contents
from activities.model.ask_aside import change_messages, title_messages
from activities.model.compact import compaction_messages
from activities.model.endpoint import Endpoint
from activities.model.input_messages import convert_entries
from activities.model.port import ModelFacts, ModelRequest, SystemInput, UserInput
from activities.model.request_digest import RequestDigester
from activities.model.step_request import offer_tools
from activities.model.system_prompt import SystemLayer, join_layers, system_layers
from activities.store import attempts, compaction_requests, compactions, prompts
from activities.store.attempts import AskedGeneration, AskedTurn, AttemptRow, CompactionForm, RequestForm
from activities.store.statements import RowReader
from activities.store.transcript import StepNumber
from activities.store.transcript_cache import read_context
from activities.store.turn_configs import TurnConfigCache
from activities.tools.tool import Toolsets
from workflows.domain.agents.agent import Agent
from workflows.domain.agents.built_in import COMPACTION, SUMMARY, TITLE
from workflows.domain.config.agent_selection import hidden_agent
from workflows.domain.context.prune import cleared_calls
from workflows.domain.errors import Conflict, NotFound
from workflows.domain.generation import Purpose
from workflows.domain.ids import SessionId, TurnId
from workflows.domain.messages import AssistantMessage, Transcript
from workflows.domain.sent_request import LeftOut, RequestChoice, SentEntry, SentLayer, SentRequest, SentTool


class _Rebuilt(NamedTuple):
    """A request, and its pieces for people."""

    question: ModelRequest
    layers: tuple[SentLayer, ...]
    conversation: tuple[SentEntry, ...]
    left_out: tuple[LeftOut, ...] = ()


class SentRequests:
    """Rebuilds the requests of one session. `reader`: a transaction that sees one state of the rows."""

    def __init__(self, reader: RowReader, configs: TurnConfigCache, toolsets: Toolsets, session: SessionId) -> None:
        self._reader = reader
        self._configs = configs
        self._toolsets = toolsets
        self._session = session
        self._turns: dict[TurnId, AskedTurn] = {}

    async def find(self, choice: RequestChoice) -> SentRequest:
        """Raises NotFound if there is none, Conflict for one that was not sent from here."""
        found = await attempts.find(self._reader, self._session, choice)
        if found is None:
            raise NotFound(_none_text(self._session, choice))
        if found.copied:
            raise Conflict(
                f"This answer of {self._session!r} was copied from another session or a file: it was asked for there."
            )
        made, self._turns = await asyncio.gather(
            attempts.of_generation(self._reader, found.id), attempts.turns(self._reader, self._session)
        )
        if not made and found.answer is not None:
            raise Conflict(f"No model was asked at this step of {self._session!r}: a prompt has begun its call.")
        if not made:
            raise Conflict(f"{found.id!r} of {self._session!r} has ended before its request was made.")
        rebuilt = await self._rebuild(found, made[-1].form)
        return _sent(self._session, found, made, rebuilt)

    async def _rebuild(self, found: AskedGeneration, form: RequestForm) -> _Rebuilt:
        if form.compaction is not None and found.purpose is Purpose.SUMMARY:
            return await self._change_summary(form, form.compaction)
        if form.compaction is not None:
            return await self._compaction(form, form.compaction)
        if found.turn is not None and found.step is not None:
            return await self._step(found.turn, found.step, form)
        return await self._title(form)

    async def _step(self, turn: TurnId, step: int, form: RequestForm) -> _Rebuilt:
        last = StepNumber(self._turns[turn].number, step)
        config = await self._configs.get(self._reader, self._turns[turn].turn_config)
        transcript = await self._context(form, last)
        if isinstance(transcript[-1], AssistantMessage) and (transcript[-1].turn, transcript[-1].step) == (turn, step):
            transcript = transcript[:-1]  # its own answer
        cleared = cleared_calls(transcript, form.pruned)
        facts = ModelFacts(images=form.images, documents=form.documents)
        own = await prompts.system(self._reader, self._turns[turn].instructed_by)
        layers = tuple(system_layers(config, form.model, platform=form.platform, of_prompt=own))
        converted = list(convert_entries(transcript, form.model, facts, cleared=cleared, thoughtless=form.thoughtless))
        messages = [message for _, each in converted for message in each]
        question = ModelRequest(
            endpoint=Endpoint(model=form.model),
            messages=(SystemInput(content=join_layers(layers)), *messages),
            tools=offer_tools(self._toolsets.of(config), config, form.model),
            tool_choice=form.choice,
        )
        numbers = {id: each.number for id, each in self._turns.items()}
        left_out = unsent_contents.of_entries(transcript, facts, cleared, numbers, form.thoughtless)
        return _Rebuilt(
            question,
            sent_pieces.layers_of(layers),
            tuple(sent_pieces.entries_of(converted, transcript, numbers)),
            (
                *await self._before(form, last),
                *left_out,
            ),
        )

    async def _compaction(self, form: RequestForm, made: CompactionForm) -> _Rebuilt:
        head, requests = await asyncio.gather(
            self._context(form, StepNumber(self._turns[made.turn].number, made.step)),
            compaction_requests.by_id(self._reader, made.requests),
        )
        agent = await self._hidden(COMPACTION, form)
        return _aside(form, agent, compaction_messages(agent, head, made.room, requests))

    async def _change_summary(self, form: RequestForm, made: CompactionForm) -> _Rebuilt:
        conversation = await self._context(form, StepNumber(self._turns[made.turn].number, made.step))
        agent = await self._hidden(SUMMARY, form)
        return _aside(form, agent, change_messages(agent, conversation, made.room))

    async def _title(self, form: RequestForm) -> _Rebuilt:
        texts = await prompts.texts(self._reader, self._session)
        agent = await self._hidden(TITLE, form)
        return _aside(form, agent, title_messages(agent, texts[: form.prompts]))

    async def _hidden(self, agent: Agent, form: RequestForm) -> Agent:
        assert form.turn is not None
        config = await self._configs.get(self._reader, self._turns[form.turn].turn_config)
        return hidden_agent(agent, config.config)

    async def _context(self, form: RequestForm, last: StepNumber) -> Transcript:
        summarised = await compactions.of_generation(self._reader, form.summary) if form.summary else None
        return await read_context(self._reader, self._session, summarised, last)

    async def _before(self, form: RequestForm, last: StepNumber) -> list[LeftOut]:
        summarised = await compactions.of_generation(self._reader, form.summary) if form.summary else None
        end = (
            StepNumber(0, 0) if summarised is None else StepNumber(self._turns[summarised.turn].number, summarised.step)
        )
        steps = await attempts.unanswered(self._reader, self._session, end, last)
        found = list(unsent_contents.unanswered_steps(steps))
        if summarised is None:
            return found
        count = await attempts.count_until(self._reader, self._session, end)
        return [*unsent_contents.before_summary(summarised, end.number, count), *found]


def _aside(form: RequestForm, agent: Agent, messages: tuple[SystemInput, UserInput]) -> _Rebuilt:
    instructions, request = messages
    layer = SystemLayer(f"prompt of the agent {agent.name}", instructions.content)
    question = ModelRequest(endpoint=Endpoint(model=form.model), messages=messages)
    return _Rebuilt(question, sent_pieces.layers_of([layer]), (sent_pieces.sent_entry("request", [request]),))


def _sent(session: SessionId, found: AskedGeneration, made: list[AttemptRow], rebuilt: _Rebuilt) -> SentRequest:
    newest, tools = made[-1], sent_pieces.tools_of(rebuilt.question)
    pieces: tuple[SentLayer | SentEntry | SentTool, ...] = (*rebuilt.layers, *rebuilt.conversation, *tools)
    counted = found.answer.tokens.prompt if found.answer is not None and found.answer.tokens.reported else None
    return SentRequest(
        session=session,
        generation=found.id,
        purpose=found.purpose,
        number=found.number,
        step=found.step,
        at=newest.begun_at,
        model=newest.form.model,
        release=newest.form.release,
        digest=newest.digest.hex(),
        rebuilt=RequestDigester().digest(rebuilt.question, newest.form.model).hex(),
        attempts=len(made),
        same=all(each.digest == newest.digest for each in made),
        answered=found.answer is not None,
        layers=rebuilt.layers,
        conversation=rebuilt.conversation,
        tools=tools,
        choice=newest.form.choice,
        left_out=rebuilt.left_out,
        tokens=sum(each.tokens for each in pieces),
        counted=counted,
    )


def _none_text(session: SessionId, choice: RequestChoice) -> str:
    if choice.generation is not None:
        return (
            f"Session {session!r} has no generation {choice.generation!r}: `holdfast log {session} --events` names all."
        )
    if choice.purpose is not None and choice.step is None:
        return f"No model was asked for a {choice.purpose} of session {session!r}."
    turn = "its newest turn" if choice.turn is None else f"turn {choice.turn}"
    return (
        f"Session {session!r} has no step {choice.step} of {turn}: `holdfast log {session} --events` lists the steps."
    )
