"""The acts of a demo: the agent works, and is killed at moments that are observed, never guessed by the clock."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final, TypeVar

from worker.demo import task
from worker.demo.evidence import Evidence, Repository, read_marks
from worker.demo.follow import PATIENCE, Follower, reader
from worker.demo.kills import Kill, Recovery, kill_everything, kill_worker, successor
from worker.demo.programs import git, holdfast, tests
from worker.demo.stage import Stage
from worker.demo.story import Story
from worker.scripted.ledger import Entry, read_ledger
from worker.scripted.script import Script
from worker.settings import Settings
from worker.stack import processes
from workflows.domain.errors import Unavailable
from workflows.domain.events import AskRaised, CallClaimed, Event, MessageCompleted, Record, TurnEnded
from workflows.domain.ids import AskId, SessionId

T = TypeVar("T")
Stroke = Callable[[Settings, str], Awaitable[Kill]]

_NOBODY: Final = "Nobody does anything: the stack starts another worker, and the engine gives it the work."
_POLL: Final = 0.02  # seconds between two looks at what another process makes


class Demo:
    """A session on its stage."""

    def __init__(self, stage: Stage, story: Story, session: SessionId) -> None:
        self.stage = stage
        self.story = story
        self.follower = Follower(stage.settings, session, story.seen)
        self.recoveries: list[Recovery] = []
        self.outlived: list[Kill] = []

    async def play(self) -> None:
        """The whole session, to the end of its turn."""
        await self.kill_while_the_model_answers()
        await self.kill_everything_while_an_ask_waits()
        await self.kill_while_the_command_runs()
        await self.until("its end", lambda event: isinstance(event, TurnEnded))

    async def kill_while_the_model_answers(self) -> None:
        await self.until("the answer before it", _answer(task.CUT_SHORT))
        await _seen("half an answer of the model", self.stage.held.exists)
        kill = await self.kill("the worker, in the middle of a streamed answer", kill_worker)
        self.story.progress(_NOBODY)
        answer = await self.follower.until("the answer that was cut short", _answer(task.CUT_SHORT + 1))
        again = await _seen("a second request for it", lambda: _repeated(self.stage))
        await self.recover(kill, again[0].began, "it asks for the answer again")
        self.story.seen(answer)

    async def kill_everything_while_an_ask_waits(self) -> None:
        ask = await self.asked()
        kill = await self.kill(
            "worker, Temporal, PostgreSQL and their supervisor, while a question waits", kill_everything
        )
        self.story.progress("The next command that needs the stack brings it back. The question still waits:")
        self.story.printed("holdfast asks", (await holdfast(self.stage, "asks")).output)
        await self.answer(ask)
        edit = await self.until("the edit", lambda event: isinstance(event, CallClaimed))
        await self.recover(kill, _time(edit), "it has the answer and begins the edit")

    async def kill_while_the_command_runs(self) -> None:
        await self.answer(await self.asked())
        marks = await _seen("the command's own word that it has begun", lambda: read_marks(self.stage.effects))
        command = processes.ref(marks[0].pid)
        kill = await self.kill("the worker, while the command runs", kill_worker)
        self.story.progress(_NOBODY)
        attached = await self.until("the attachment to the running command", _taken_over)
        await self.recover(kill, _time(attached), "it attaches to the running command")
        if command.alive:
            self.outlived.append(kill)
        self.stage.gate.touch()

    async def asked(self) -> AskId:
        """The next question."""
        record = await self.until("a question", lambda event: isinstance(event, AskRaised))
        assert isinstance(record.event, AskRaised)
        return record.event.ask

    async def answer(self, ask: AskId) -> None:
        """Answer it as a person would."""
        self.story.printed(f"holdfast answer {ask} once", (await holdfast(self.stage, "answer", ask, "once")).output)

    async def until(self, what: str, wanted: Callable[[Event], bool]) -> Record:
        """The next event that is wanted, shown."""
        seen = await self.follower.until(what, wanted)
        self.story.seen(seen)
        return seen.record

    async def kill(self, what: str, stroke: Stroke) -> Kill:
        """Kill, and look out for the worker that comes after."""
        await self.follower.catch_up()
        kill = await stroke(self.stage.settings, what)
        self._successor = asyncio.create_task(successor(self.stage.settings, kill))
        self.story.killed(kill)
        return kill

    async def recover(self, kill: Kill, progress: datetime, how: str) -> None:
        recovery = Recovery(kill=kill, worker=await self._successor, progress=progress, how=how)
        self.story.recovered(recovery)
        self.recoveries.append(recovery)

    async def evidence(self, script: Script, failed_before: bool) -> Evidence:
        """Everything that was counted, from its sources."""
        printed = await holdfast(self.stage, "log", self.follower.session, "--verify")
        async with reader(self.stage.settings) as client:
            totals = await client.totals(self.follower.session)
            verified = await client.verify(self.follower.session)
        return Evidence(
            script=script,
            requests=tuple(read_ledger(self.stage.requests)),
            marks=read_marks(self.stage.effects),
            repository=await self.repository(failed_before),
            recoveries=tuple(self.recoveries),
            outlived=tuple(self.outlived),
            records=tuple(self.follower.records),
            totals=totals,
            verified=verified,
            printed=printed.output,
        )

    async def repository(self, failed_before: bool) -> Repository:
        return Repository(
            changed=await git(self.stage, "status", "--short"),
            module=(self.stage.repository / task.MODULE).read_text(),
            failed_before=failed_before,
            passes_now=(await tests(self.stage)).code == 0,
        )


def _answer(step: int) -> Callable[[Event], bool]:
    return lambda event: isinstance(event, MessageCompleted) and event.step == step


def _repeated(stage: Stage) -> list[Entry]:
    """Requests for an answer that was asked for before."""
    return [entry for entry in read_ledger(stage.requests) if entry.asked > 1]


def _taken_over(event: Event) -> bool:
    return isinstance(event, CallClaimed) and event.recovered


def _time(record: Record) -> datetime:
    return datetime.fromisoformat(record.at)


async def _seen(what: str, look: Callable[[], T]) -> T:
    """What `look` finds, once it finds something. Raises Unavailable when it never does."""
    try:
        async with asyncio.timeout(PATIENCE):
            while not (found := look()):
                await asyncio.sleep(_POLL)
    except TimeoutError:
        raise Unavailable(f"Nothing was seen of {what} for {PATIENCE:.0f} s.") from None
    return found
