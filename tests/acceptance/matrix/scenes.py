"""The scene of each moment: a short session, how its moment is reached and held, and how it goes on from there."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

import psutil

from tests.acceptance.effects import effect
from tests.acceptance.matrix.cells import Point
from tests.acceptance.scenarios import DONE, HANDS_OVER, runs
from tests.acceptance.trial import Trial
from tests.house import reached
from tests.patience import PATIENCE
from worker.bells import workflow_id
from worker.scripted.script import DEFAULT, Hold, Script, ScriptedAnswer, ScriptedCall
from workflows.domain.errors import Unavailable
from workflows.domain.events import TaskStarted
from workflows.domain.ids import AskId, SessionId

_LOOK_PERIOD: Final = 0.005
_AGAIN: Final = 0.2  # seconds until a person tries again what the door has refused
_WRITE: Final = ScriptedAnswer(
    tools=(ScriptedCall(name="write", arguments={"filePath": "a.txt", "content": "written once\n"}),)
)
_LONG: Final = ScriptedAnswer(
    text="An answer that takes a good number of chunks until it is complete, each of them of sixteen characters, "
    "so that there are twelve of them before the call that it ends with, and in each it may be interrupted.",
    tools=(effect("one"),),
)


class Scene:
    """A session of one turn with a moment in it; `variant` is which form the moment has."""

    answers: tuple[ScriptedAnswer, ...] = (runs("one"), DONE)
    child: tuple[ScriptedAnswer, ...] = ()  # what a subagent answers
    limits: ClassVar[Mapping[str, Any]] = {}
    config: ClassVar[Mapping[str, Any]] = {}
    wasted: ClassVar[int] = 0  # requests to the model that a fault at this moment may cost
    point: str = ""  # the failpoint that holds the moment

    def __init__(self, variant: int, directory: Path) -> None:
        self.gate = directory / "moment"
        self.variant = variant

    @property
    def scripts(self) -> Mapping[str, Script]:
        return {DEFAULT: Script(answers=self.answers), "child": Script(answers=self.child)}

    @property
    def course(self) -> int:
        """Which undisturbed run this one is like: forms that differ in their moment only have one in common."""
        return 0

    @property
    def faults(self) -> str:
        return f"{self.point}=block:{self.gate}@1" if self.point else ""

    async def reach(self, trial: Trial, session: SessionId) -> None:
        """Return when the session is at the moment, where it stays."""
        await reached(self.gate)

    async def leave(self, trial: Trial, session: SessionId) -> None:
        """Let the session go on, as far as that takes anybody."""
        self.gate.touch()

    async def finish(self, trial: Trial, session: SessionId) -> None:
        """Do what a person has to do later in the turn."""


class Streaming(Scene):
    """A model's answer is half way through the network."""

    wasted = 1

    def __init__(self, variant: int, directory: Path) -> None:
        super().__init__(variant, directory)
        held = _LONG.model_copy(update={"faults": {1: Hold(after=1 + variant, path=str(self.gate))}})
        self.answers = (held, DONE)


class Answered(Scene):
    """An answer is stored; its completion is not reported, or its call not claimed or not begun."""

    def __init__(self, variant: int, directory: Path) -> None:
        super().__init__(variant, directory)
        points = ("model.committed", "tool.before_claim", "tool.claimed")
        self.point = points[variant % len(points)]


class Running(Scene):
    """A command runs, until somebody lets it end."""

    answers = (runs("one", hold=True), DONE)

    async def reach(self, trial: Trial, session: SessionId) -> None:
        await trial.effects.reached("one")

    async def leave(self, trial: Trial, session: SessionId) -> None:
        trial.effects.release("one")


class Written(Scene):
    """A file is written; its outcome is not, or is not reported."""

    answers = (_WRITE, DONE)

    def __init__(self, variant: int, directory: Path) -> None:
        super().__init__(variant, directory)
        points = ("tool.effect_done", "tool.committed")
        self.point = points[variant % len(points)]


class Waiting(Scene):
    """An ask waits for a person."""

    config: ClassVar = {"permission": {"bash": "ask"}}

    def __init__(self, variant: int, directory: Path) -> None:
        super().__init__(variant, directory)
        self.asks: list[AskId] = []

    async def reach(self, trial: Trial, session: SessionId) -> None:
        self.asks = await trial.house.asked(session)

    async def leave(self, trial: Trial, session: SessionId) -> None:
        for ask in self.asks:
            await insist(trial, ask)


class Decided(Waiting):
    """A person has just answered, and no worker has been able to take notice."""

    async def reach(self, trial: Trial, session: SessionId) -> None:
        await super().reach(trial, session)
        for worker in trial.workers:
            worker.process.suspend()
            await worker.frozen()
        for ask in self.asks:
            await trial.door.answer(ask)

    async def leave(self, trial: Trial, session: SessionId) -> None:
        for worker in trial.workers:
            if not worker.ended and worker.process.status() == psutil.STATUS_STOPPED:
                worker.wake()


class Renewing(Waiting):
    """A run has just continued as new: between two steps, or with asks open and prompts that came meanwhile."""

    answers = (runs("zero"), runs("one", "two"), DONE)
    limits: ClassVar = {"history_events": 12}
    config: ClassVar = {"permission": {"bash": {"*": "ask", "effect zero": "allow"}}}
    wasted = 1
    _PROMPTS: ClassVar = 6

    @property
    def course(self) -> int:
        return self.variant % 2

    async def reach(self, trial: Trial, session: SessionId) -> None:
        if self.course == 0:
            await renewed(trial, session, await first_run_of(trial, session))
            return
        self.asks = await trial.house.asked(session, 2)
        before = await run_of(trial, session)
        for number in range(self._PROMPTS):
            await trial.door.prompt(session, f"And think of {number}.")
        await renewed(trial, session, before)

    async def finish(self, trial: Trial, session: SessionId) -> None:
        if not self.asks:
            self.asks = await trial.house.asked(session, 2)
            await self.leave(trial, session)


class ChildWorks(Scene):
    """A subagent works: it was just begun, its answer streams, its command runs, or its turn has just ended."""

    answers = (HANDS_OVER, DONE)
    wasted = 1

    def __init__(self, variant: int, directory: Path) -> None:
        super().__init__(variant, directory)
        self.point = ("task.started", "", "", "task.settled")[variant % 4]
        held = {1: Hold(after=0, path=str(self.gate))} if variant % 4 == 1 else {}
        found = DONE.model_copy(update={"faults": held})
        self.child = (runs("one", hold=True), found)

    async def reach(self, trial: Trial, session: SessionId) -> None:
        if self.variant % 4 in (1, 3):
            trial.effects.release("one")
        if self.variant % 4 == 2:
            await trial.effects.reached("one")
        else:
            await super().reach(trial, session)

    async def leave(self, trial: Trial, session: SessionId) -> None:
        await super().leave(trial, session)
        trial.effects.release("one")


class ChildAsks(Waiting):
    """A subagent's ask waits for a person."""

    answers = (HANDS_OVER, DONE)
    child = (runs("one"), DONE)

    async def reach(self, trial: Trial, session: SessionId) -> None:
        started = await trial.house.until(session, lambda event: event.type == "task.started")
        assert isinstance(started, TaskStarted)
        self.asks = await trial.house.asked(started.child)


async def run_of(trial: Trial, session: SessionId) -> str | None:
    return (await trial.house.temporal.get_workflow_handle(workflow_id(session)).describe()).run_id


async def first_run_of(trial: Trial, session: SessionId) -> str:
    """The run that the session began with, however many there have been by now."""
    run = await trial.house.temporal.get_workflow_handle(workflow_id(session)).describe()
    return run.raw_description.workflow_execution_info.first_run_id


async def renewed(trial: Trial, session: SessionId, before: str | None) -> None:
    """Wait until the session has another run."""
    async with asyncio.timeout(PATIENCE):
        while await run_of(trial, session) == before:
            await asyncio.sleep(_LOOK_PERIOD)


async def insist(trial: Trial, ask: AskId) -> None:
    """Answer as a person does who is told that the database is away: again, until it is accepted."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await trial.door.answer(ask)
                return
            except Unavailable:
                await asyncio.sleep(_AGAIN)


SCENES: Final[Mapping[Point, type[Scene]]] = {
    Point.STREAMING: Streaming,
    Point.ANSWERED: Answered,
    Point.RUNNING: Running,
    Point.WRITTEN: Written,
    Point.WAITING: Waiting,
    Point.DECIDED: Decided,
    Point.CHILD_WORKS: ChildWorks,
    Point.CHILD_ASKS: ChildAsks,
    Point.RENEWING: Renewing,
}
