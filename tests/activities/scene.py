"""A session in a real database, and our activities on it, run one by one without an engine."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, TypeVar

from temporalio.testing import ActivityEnvironment

from activities.mint import Mint
from activities.model.prepare import Preparer
from activities.model.stream import CallPart
from activities.project.survey import Surveyor
from activities.session import answers
from activities.session.answers import Decided, Settled
from activities.session.asks import Asks
from activities.session.describing import nothing
from activities.session.project import Project
from activities.session.turns import Turns
from activities.store import asks, bells, calls, events, generations, prompts, sessions, stops
from activities.store.asks import AskRow
from activities.store.bells import Bell
from activities.store.calls import CallRow
from activities.store.database import Database
from activities.store.generations import NewAnswer
from activities.store.journal import Journal, journal
from activities.store.prompts import Mode, NewPrompt
from activities.store.sessions import NewSession
from activities.store.stops import Stopped
from activities.tools.claim import Claim, claim
from activities.tools.run import Tools
from activities.tools.table import TOOLS
from activities.tools.tool import Tool
from activities.tools.workshop import Job, Workshop
from workflows.domain.config.sources import ConfigSources
from workflows.domain.effects import Plan
from workflows.domain.errors import ToolError
from workflows.domain.events import Actor, Event
from workflows.domain.ids import AskId, MessageId, PartId, Prefix, SessionId, StopId, TurnId
from workflows.domain.messages import AnswerBody, CallState
from workflows.domain.permissions.replies import Reply
from workflows.domain.usage import Tokens
from workflows.domain.wire import (
    AskOpened,
    AskRequest,
    Closed,
    CloseReason,
    CloseRequest,
    Fence,
    Loaded,
    LoadRequest,
    OpenTurn,
    Ran,
    RefuseRequest,
    Request,
    RunRequest,
)

PERSON: Final = Actor(subject="tester@here", method="test")
CHAIN: Final = 1_000
HERE: Final = "here"
BODY: Final = AnswerBody(finish="tool-calls", agent="build", model="scripted/model", tokens=Tokens(), cost="0")

Q = TypeVar("Q", bound=Request)
R = TypeVar("R")


@dataclass
class Scene:
    """A session, its open turn (once `open_turn` has been called), and the numbers of its chain."""

    database: Database
    surveyor: Surveyor
    project: Path
    session: SessionId
    tools: Mapping[str, Tool[Any]] = field(default_factory=lambda: TOOLS)
    chain: int = CHAIN
    schedule: int = 0
    turn: TurnId = TurnId("")
    step: int = 0
    mint: Mint = field(default_factory=Mint)
    rung: list[Bell] = field(default_factory=list)

    @property
    def config(self) -> Path:
        """The user's own configuration folder."""
        return Path(self.surveyor.own.folder)

    def file(self, name: str, content: str) -> Path:
        """A file of the project."""
        path = self.project / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
        return path

    def workshop(self, machine: str = HERE) -> Workshop:
        return Workshop(self.database, self.surveyor, self.tools, machine, self.ring)

    async def ring(self, bell: Bell) -> None:
        """The engine, as far as activities reach it: what was rung. The row of it must be committed by then."""
        later = await self.database.now() + timedelta(seconds=1)
        assert bell in await bells.undelivered(self.database, later), f"{bell} was rung before its row was there"
        self.rung.append(bell)

    @asynccontextmanager
    async def journal(self) -> AsyncIterator[Journal]:
        """A transaction of a door."""
        async with journal(self.database, self.session, PERSON) as opened:
            await opened.locked()
            yield opened

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

    def place(self) -> dict[str, Any]:
        """The fields of a new request: session, chain, and the next schedule number."""
        self.schedule += 1
        return {"session": self.session, "chain": self.chain, "schedule": self.schedule}

    def fence(self, attempt: int = 1) -> Fence:
        self.schedule += 1
        return Fence(self.chain, self.schedule, attempt)

    async def events(self) -> list[Event]:
        return [record.event async for record in events.after(self.database, self.session)]

    async def types(self) -> list[str]:
        return [event.type for event in await self.events()]

    async def prompt(self, text: str = "Go.", mode: Mode = Mode.STEER, **more: Any) -> MessageId:
        """Accept a prompt."""
        new = NewPrompt(id=MessageId(self.mint.new(Prefix.MESSAGE)), text=text, mode=mode, **more)
        async with self.journal() as opened:
            await prompts.accept(opened, new)
        return new.id

    async def load(self, attempt: int = 1) -> Loaded:
        turn = TurnId(self.mint.new(Prefix.TURN))
        activities = Project(self.database, self.surveyor, nothing)
        return await self.act(activities.load, LoadRequest(**self.place(), turn=turn), attempt)

    async def open_turn(self, **config: Any) -> OpenTurn:
        """Open a turn for a prompt, under this opencode.json."""
        self.file("opencode.json", json.dumps(config))
        await self.prompt(model="scripted/model")
        loaded = await self.load()
        assert loaded.turn is not None
        self.turn, self.step = loaded.turn.id, 0
        return loaded.turn

    async def answered(self, *wanted: tuple[str, dict[str, Any]]) -> list[PartId]:
        """Store the model's answer of the next step, with these calls."""
        self.step += 1
        preparer = Preparer(self.tools, self.surveyor.place(str(self.project)), self.mint)
        parts = [CallPart(f"c{place}", name, json.dumps(given)) for place, (name, given) in enumerate(wanted)]
        prepared = [await preparer.prepare(place, part) for place, part in enumerate(parts)]
        new = NewAnswer(id=MessageId(self.mint.new(Prefix.MESSAGE)), body=BODY, calls=tuple(prepared))
        fence = self.fence()
        async with self.journal() as opened:
            await generations.begin(opened, self.turn, self.step, fence)
            await generations.commit(opened, self.turn, self.step, fence, new)
        return [call.id for call in prepared]

    async def called(self, tool: str, **arguments: Any) -> PartId:
        """Store an answer with one call."""
        (call,) = await self.answered((tool, arguments))
        return call

    async def row(self, call: PartId) -> CallRow:
        return (await calls.read(self.database, call))[0]

    async def job(self, call: PartId, fence: Fence) -> Job:
        """A stored call, ready to be planned or run."""
        return await self.workshop().job(*await calls.read(self.database, call), fence)

    async def state(self, call: PartId) -> CallState:
        return (await self.row(call)).state

    async def said(self, call: PartId) -> str:
        """What the model reads of a settled call."""
        outcome = (await self.row(call)).outcome
        assert outcome is not None
        return outcome.output

    async def claim(
        self, call: PartId, fence: Fence | None = None, plan: Plan | ToolError | None = None, **more: Any
    ) -> Claim:
        """Claim a call as `Tools.run` does, and do nothing more; `plan`: as it was found before."""
        fence = fence or self.fence()
        plan = plan or await self.plan(call, fence)
        request = RunRequest(
            session=self.session, chain=fence.chain, schedule=fence.schedule, turn=self.turn, call=call, **more
        )
        async with journal(self.database, self.session, PERSON, chain_start=fence.chain) as opened:
            return await claim(opened, request, fence, HERE, plan)

    async def run(
        self,
        call: PartId,
        *,
        attempt: int = 1,
        machine: str = HERE,
        environment: ActivityEnvironment | None = None,
        **more: Any,
    ) -> Ran:
        """Run a call; with `schedule=` as a later attempt of an earlier schedule."""
        request = RunRequest(**{**self.place(), "turn": self.turn, "call": call, **more})
        return await self.act(Tools(self.database, self.workshop(machine)).run, request, attempt, environment)

    async def refuse(self, call: PartId) -> Ran:
        request = RefuseRequest(**self.place(), turn=self.turn, call=call)
        return await self.act(Tools(self.database, self.workshop()).refuse, request)

    async def ask(self, call: PartId, request: int = 0, **more: Any) -> tuple[AskId, AskOpened]:
        """Open an ask for a request of a call."""
        ask = AskId(self.mint.new(Prefix.ASK))
        given = {**self.place(), "turn": self.turn, "call": call, "ask": ask, "request": request, "revision": 0}
        return ask, await self.act(Asks(self.database).open, AskRequest(**{**given, **more}))

    async def asked(self, call: PartId, request: int = 0, **more: Any) -> AskId:
        return (await self.ask(call, request, **more))[0]

    async def answer(self, ask: AskId, reply: Reply = Reply.ONCE, **more: Any) -> Settled:
        return await answers.answer(self.database, ask, Decided(reply=reply, **more), PERSON)

    async def ask_row(self, ask: AskId) -> AskRow:
        async with self.journal() as opened:
            return await asks.lock(opened, ask)

    async def stop(self, **more: Any) -> Stopped:
        async with self.journal() as opened:
            return await stops.accept(opened, StopId(self.mint.new(Prefix.STOP)), **more)

    async def end(self) -> None:
        async with self.journal() as opened:
            await sessions.end(opened, "test")

    async def close(
        self, reason: CloseReason = CloseReason.DONE, *, machine: str = HERE, attempt: int = 1, **more: Any
    ) -> Closed:
        request = CloseRequest(**{**self.place(), "turn": self.turn, "reason": reason, **more})
        return await self.act(Turns(self.database, self.workshop(machine)).close, request, attempt)

    async def plan(self, call: PartId, fence: Fence) -> Plan | ToolError | None:
        """What a prepared call would do now."""
        row = await self.row(call)
        if row.state is not CallState.PREPARED:
            return None
        try:
            return await (await self.job(call, fence)).plan()
        except ToolError as error:
            return error


async def scene_in(database: Database, directory: Path, **more: Any) -> Scene:
    """A new session in `directory`/project."""
    project = directory / "project"
    project.mkdir(exist_ok=True)
    sources = ConfigSources(home=str(directory), folder=str(directory / "config"))
    surveyor = Surveyor(directory / "data", directory / "tmp", directory / "managed", {}, sources)
    new = NewSession(id=SessionId(Mint().new(Prefix.SESSION)), directory=str(project), title="A session")
    await sessions.create(database, new, PERSON)
    return Scene(database, surveyor, project, new.id, **more)


async def somebody_waits(database: Database) -> None:
    """Wait until somebody waits for a row that is locked."""
    query = b"SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    waiting = 0
    while not waiting:
        async with database.transaction() as connection:  # a new one each time: it sees one state of the others
            waiting = (await connection.execute(query)).rowcount
        await asyncio.sleep(0.01)
