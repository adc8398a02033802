"""A session in a real database; our activities run on it one by one, without an engine."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from psycopg.types.json import Json
from temporalio.testing import ActivityEnvironment

from activities.calls.claim import CallClaim, Claimed
from activities.calls.description import describe_nothing
from activities.calls.effect import CallEffect, CallEffects
from activities.calls.prepare import CallPreparer, in_order
from activities.calls.run import ToolActivities
from activities.credentials.keys import Keys
from activities.model.default_model import DefaultModels
from activities.model.model_table import ModelTables
from activities.new_ids import new_id
from activities.project.project_loader import ProjectLoader
from activities.session import answers
from activities.session.asks import AskActivities
from activities.session.open_turn import ProjectActivities
from activities.session.turns import TurnActivities
from activities.store import asks, calls, events, generations, outbox, prompts, sessions, stops, turns
from activities.store.asks import AskRow
from activities.store.calls import CallRow
from activities.store.database import Database
from activities.store.journal import Journal, session_journal
from activities.store.model_answers import NewAnswer
from activities.store.outbox import PendingSignal
from activities.store.sessions import NewSession
from activities.tools.registry import TOOLS
from activities.tools.tool import Tool
from activities.turn_tools import TurnTools
from activities.web.web_access import WebAccess
from workflows.domain.actor import Actor
from workflows.domain.config.sources import ConfigSources
from workflows.domain.effects import Plan
from workflows.domain.errors import ToolError
from workflows.domain.events.event import Event
from workflows.domain.fence import Fence
from workflows.domain.generation import Generation, Purpose
from workflows.domain.ids import AskId, GenerationId, MessageId, PartId, Prefix, SessionId, StopId, TurnId
from workflows.domain.messages import AnswerMetadata, CallState, RequestedCall
from workflows.domain.open_call import CallResult
from workflows.domain.permissions.replies import AskDecision, Reply
from workflows.domain.prompt import Prompt, PromptMode
from workflows.domain.tool_offer import ToolOffer
from workflows.domain.usage import Tokens
from workflows.domain.views.accepted import AcceptedAnswer, AcceptedStop
from workflows.domain.wake_signal import WakeKind
from workflows.domain.wire import (
    AskRequest,
    AskResult,
    CloseReason,
    CloseRequest,
    CloseResult,
    GenerateRequest,
    LoadRequest,
    LoadResult,
    OpenTurn,
    RefuseRequest,
    Request,
    RunRequest,
)

PERSON: Final = Actor(subject="tester@here", method="test")
HERE: Final = "here"
BODY: Final = AnswerMetadata(finish="tool-calls", agent="build", model="scripted/model", tokens=Tokens(), cost="0")

Q = TypeVar("Q", bound=Request)
R = TypeVar("R")


@dataclass
class ActivityRig:
    """A session, its open turn (after `open_turn`), and the numbers of its epoch."""

    database: Database
    loader: ProjectLoader
    project: Path
    session: SessionId
    tools: Mapping[str, Tool[Any]] = field(default_factory=lambda: TOOLS)
    epoch: int = 0
    sequence: int = 0
    turn: TurnId = TurnId("")
    step: int = 0
    sent: list[PendingSignal] = field(default_factory=list)

    @property
    def config(self) -> Path:
        """The user's configuration folder."""
        return Path(self.loader.default_sources.folder)

    def file(self, name: str, content: str) -> Path:
        """A file of the project."""
        path = self.project / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
        return path

    def call_effects(self, machine: str = HERE) -> CallEffects:
        web = WebAccess(Keys(self.loader.data / "auth.json"), {})
        return CallEffects(self.database, self.loader, TurnTools(self.tools), machine, self.deliver, web)

    async def deliver(self, session: SessionId) -> None:
        """Temporal for activities: acknowledges and records the signals of a session."""
        for signal in await outbox.pending(self.database, session):
            await outbox.delete(self.database, signal)
            self.sent.append(signal)

    async def signals(self) -> list[tuple[WakeKind, str]]:
        """What the outbox holds for the session."""
        query = b"SELECT kind, subject FROM outbox WHERE session = %(session)s ORDER BY id"
        rows = await self.database.rows(query, session=self.session)
        return [(WakeKind(row["kind"]), row["subject"]) for row in rows]

    @asynccontextmanager
    async def journal(self) -> AsyncIterator[Journal]:
        """A client's transaction."""
        async with session_journal(self.database, self.session, PERSON) as journal:
            await journal.locked()
            yield journal

    async def act(
        self,
        activity: Callable[[Q], Awaitable[R]],
        request: Q,
        attempt: int = 1,
        environment: ActivityEnvironment | None = None,
    ) -> R:
        """Run an activity as the n-th attempt of its schedule."""
        environment = environment or ActivityEnvironment()
        environment.info = replace(environment.info, attempt=attempt)
        return await environment.run(activity, request)

    def request_fields(self) -> dict[str, Any]:
        """The common fields of a new request: session, epoch, and next schedule number."""
        self.sequence += 1
        return {"session": self.session, "epoch": self.epoch, "sequence": self.sequence}

    def fence(self, attempt: int = 1) -> Fence:
        self.sequence += 1
        return Fence(self.epoch, self.sequence, attempt, execution=self.sequence)

    async def events(self) -> list[Event]:
        return [record.event async for record in events.after(self.database, self.session)]

    async def types(self) -> list[str]:
        return [event.type for event in await self.events()]

    async def prompt(self, text: str = "Go.", mode: PromptMode = PromptMode.STEER, **more: Any) -> MessageId:
        """Accept a prompt."""
        message = MessageId(new_id(Prefix.MESSAGE))
        async with self.journal() as journal:
            await prompts.accept(journal, message, Prompt.of_text(text, mode=mode, **more))
        return message

    async def load(self, attempt: int = 1) -> LoadResult:
        turn = TurnId(new_id(Prefix.TURN))
        models = DefaultModels(Keys(self.config.parent / "auth.json"), self.loader.environ, ModelTables())
        activities = ProjectActivities(self.database, self.loader, describe_nothing, models)
        loaded = await self.act(activities.load, LoadRequest(**self.request_fields(), turn=turn), attempt)
        self.epoch = loaded.epoch
        return loaded

    async def open_turn(self, **config: Any) -> OpenTurn:
        """Open a turn for a prompt, under this opencode.json."""
        self.file("opencode.json", json.dumps(config))
        await self.prompt(model="scripted/model")
        loaded = await self.load()
        assert loaded.turn is not None
        self.turn, self.step = loaded.turn.id, 0
        return loaded.turn

    async def offer(self, *offers: ToolOffer) -> None:
        """Have the open turn's configuration hold these foreign tools."""
        (row,) = await self.database.rows(b"SELECT turn_config FROM turn WHERE id = %(id)s", id=self.turn)
        config = await self.database.turn_configs.get(self.database, row["turn_config"])
        offering = config.model_copy(update={"foreign_tools": offers})
        await self.database.rows(
            b"WITH frozen AS (INSERT INTO turn_config (id, body) VALUES (%(config)s, %(body)s) RETURNING id)"
            b" UPDATE turn SET turn_config = frozen.id FROM frozen WHERE turn.id = %(turn)s",
            config=offering.id,
            body=Json(offering.model_dump(mode="json")),
            turn=self.turn,
        )

    async def answered(self, *wanted: tuple[str, dict[str, Any]], body: AnswerMetadata = BODY) -> list[PartId]:
        """Store the model's answer of the next step, with these calls."""
        self.step += 1
        generation = self.generation(self.step)
        request = GenerateRequest(**self.request_fields(), turn=self.turn, step=self.step, generation=generation.id)
        async with self.journal() as journal:
            frozen = await turns.turn_config(journal, (await turns.turn_status(journal, self.turn)).turn_config)
        context = self.loader.turn_context(frozen)
        preparer = CallPreparer(request, generation.message, self.tools, context, reader=self.database)
        parts = [RequestedCall(f"c{place}", name, json.dumps(given)) for place, (name, given) in enumerate(wanted)]
        prepared = [await preparer.prepare(place, part) for place, part in enumerate(parts)]
        await self.store_answer(generation, NewAnswer(body=body, calls=in_order(prepared)))
        return [call.id for call in prepared]

    def generation(self, step: int, id: str | None = None) -> Generation:
        """The generation of a step of the open turn."""
        minted = GenerationId(id or new_id(Prefix.GENERATION))
        return Generation(id=minted, purpose=Purpose.STEP, turn=self.turn, step=step)

    async def store_answer(self, generation: Generation, new: NewAnswer) -> None:
        """Register an attempt and store its answer; a step takes the steered prompts."""
        fence = self.fence()
        async with self.journal() as journal:
            steered = await prompts.steered(journal)
            await generations.begin(journal, generation, fence)
            for prompt in steered:
                prompts.take(journal, prompt, self.turn, generation.step or 0)
            await generations.commit(journal, generation, fence, new)

    async def called(self, tool: str, **arguments: Any) -> PartId:
        """Store an answer with one call."""
        (call,) = await self.answered((tool, arguments))
        return call

    async def row(self, call: PartId) -> CallRow:
        return (await calls.read(self.database, call))[0]

    async def effect(self, call: PartId, fence: Fence) -> CallEffect:
        """The effect of a stored call, to be planned or run."""
        return await self.call_effects().open(call, fence)

    async def state(self, call: PartId) -> CallState:
        return (await self.row(call)).state

    async def output(self, call: PartId) -> str:
        """The text of a settled call for the model."""
        outcome = (await self.row(call)).outcome
        assert outcome is not None
        return outcome.output

    async def claim(
        self, call: PartId, fence: Fence | None = None, plan: Plan | ToolError | None = None, **more: Any
    ) -> Claimed | CallResult:
        """Only claim a call, as `ToolActivities.run` does; `plan`: a former one."""
        fence = fence or self.fence()
        plan = plan or await self.plan(call, fence)
        request = RunRequest(
            session=self.session, epoch=fence.epoch, sequence=fence.sequence, turn=self.turn, call=call, **more
        )
        async with session_journal(self.database, self.session, PERSON, epoch=fence.epoch) as journal:
            return await CallClaim(request, fence, HERE, plan).take(journal)

    async def run(
        self,
        call: PartId,
        *,
        attempt: int = 1,
        machine: str = HERE,
        environment: ActivityEnvironment | None = None,
        **more: Any,
    ) -> CallResult:
        """Run a call; with `schedule=` as a later attempt of an earlier schedule."""
        request = RunRequest(**{**self.request_fields(), "turn": self.turn, "call": call, **more})
        return await self.act(
            ToolActivities(self.database, self.call_effects(machine)).run, request, attempt, environment
        )

    async def refuse(self, call: PartId) -> CallResult:
        request = RefuseRequest(**self.request_fields(), turn=self.turn, call=call)
        return await self.act(ToolActivities(self.database, self.call_effects()).refuse, request)

    async def ask(self, call: PartId, *requests: int, **more: Any) -> tuple[AskId, AskResult]:
        """Open an ask for requests of a call, the first by default."""
        ask = AskId(new_id(Prefix.ASK))
        given = {"turn": self.turn, "call": call, "ask": ask, "requests": requests or (0,), "revision": 0, **more}
        asking = AskRequest(**{**self.request_fields(), **given})
        return ask, await self.act(AskActivities(self.database).open, asking)

    async def asked(self, call: PartId, *requests: int, **more: Any) -> AskId:
        return (await self.ask(call, *requests, **more))[0]

    async def answer(self, ask: AskId, reply: Reply = Reply.ONCE, **more: Any) -> AcceptedAnswer:
        return await answers.answer_ask(self.database, ask, AskDecision(reply=reply, **more), PERSON)

    async def ask_row(self, ask: AskId) -> AskRow:
        async with self.journal() as journal:
            return await asks.lock(journal, ask)

    async def stop(self, **more: Any) -> AcceptedStop:
        async with self.journal() as journal:
            return await stops.accept(journal, StopId(new_id(Prefix.STOP)), **more)

    async def end(self) -> None:
        async with self.journal() as journal:
            await sessions.end(journal, "test")

    async def close(
        self, reason: CloseReason = CloseReason.DONE, *, machine: str = HERE, attempt: int = 1, **more: Any
    ) -> CloseResult:
        """By default as a run that has seen every step."""
        request = CloseRequest(**{**self.request_fields(), "turn": self.turn, "step": 1000, "reason": reason, **more})
        return await self.act(TurnActivities(self.database, self.call_effects(machine)).close, request, attempt)

    async def plan(self, call: PartId, fence: Fence) -> Plan | ToolError | None:
        """What a prepared call would do now."""
        row = await self.row(call)
        return await (await self.effect(call, fence)).plan(self.database) if row.state is CallState.PREPARED else None


async def open_rig(database: Database, directory: Path, **more: Any) -> ActivityRig:
    """A new session in `directory`/project."""
    project = directory / "project"
    project.mkdir(exist_ok=True)
    sources = ConfigSources(home=str(directory), folder=str(directory / "config"))
    loader = ProjectLoader(directory / "data", directory / "tmp", directory / "managed", {}, sources)
    new = NewSession(id=SessionId(new_id(Prefix.SESSION)), directory=str(project), title="A session")
    await sessions.create(database, new, PERSON)
    return ActivityRig(database, loader, project, new.id, **more)


async def wait_for_lock_waiter(database: Database) -> None:
    """Wait until a transaction waits for a row lock."""
    query = b"SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    waiting = 0
    while not waiting:
        async with (
            database.transaction() as connection
        ):  # a new one each time: a transaction sees one state of the others
            waiting = (await connection.execute(query)).rowcount
        await asyncio.sleep(0.01)
