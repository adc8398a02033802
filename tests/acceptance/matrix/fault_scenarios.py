"""The scenario of each moment: a short session, how it reaches and holds the moment, and goes on."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

import psutil

from tests.acceptance.effect_ledger import effect
from tests.acceptance.matrix.trial_plan import Point
from tests.acceptance.outline import comparable
from tests.acceptance.scenarios import DONE, delegates, held, runs, send_until_accepted
from tests.acceptance.trial import Trial
from tests.harness import wait_for_file
from tests.polling import attempts
from worker.scripted.script import DEFAULT_SCRIPT, Script, ScriptedAnswer, ScriptedCall, ScriptedUsage
from workflows.domain.events.tasks import TaskStarted
from workflows.domain.ids import AskId, SessionId

_RUN_INTERVAL: Final = 0.005  # seconds between two looks for a new run
_WRITE: Final = ScriptedAnswer(
    tools=(ScriptedCall(name="write", arguments={"filePath": "a.txt", "content": "written once\n"}),)
)
_LONG: Final = ScriptedAnswer(
    text="An answer that takes a good number of chunks until it is complete, each of them of sixteen characters, "
    "so that there are twelve of them before the call that it ends with, and in each it may be interrupted.",
    tools=(effect("one"),),
)
_SUMMARY: Final = ScriptedAnswer(text="## Objective\nDo it.\n\n## Work state\nIt has run.\n\n## Next move\nSay done.")


class FaultScenario:
    """A session of one turn with a moment in it; `variant` is the moment's form."""

    answers: tuple[ScriptedAnswer, ...] = (runs("one"), DONE)
    child: tuple[ScriptedAnswer, ...] = ()  # what a subagent answers
    summary: ScriptedAnswer | None = None
    limits: ClassVar[Mapping[str, Any]] = {}
    config: ClassVar[Mapping[str, Any]] = {}
    person: ClassVar[Mapping[str, Any]] = {}  # the person's own configuration
    wasted: ClassVar[int] = 0  # model requests that a fault at this moment may cost
    points: ClassVar[tuple[str, ...]] = ("",)  # by form: the failpoint that holds the moment

    def __init__(self, variant: int, directory: Path) -> None:
        self.gate = directory / "moment"
        self.variant = variant
        self.asks: list[AskId] = []

    @property
    def scripts(self) -> Mapping[str, Script]:
        own = Script(answers=self.answers, auxiliary_answer=self.summary)
        return comparable({DEFAULT_SCRIPT: own, "child": Script(answers=self.child)})

    @property
    def course(self) -> int:
        """The key of its undisturbed run, which forms share if only their moment differs."""
        return 0

    @property
    def faults(self) -> str:
        point = self.points[self.variant % len(self.points)]
        return f"{point}=block:{self.gate}@1" if point else ""

    async def reach(self, trial: Trial, session: SessionId) -> None:
        """Return when the session is at the moment, where it stays."""
        await wait_for_file(self.gate)

    async def leave(self, trial: Trial, session: SessionId) -> None:
        """Let the session go on, if it needs that."""
        self.gate.touch()

    async def finish(self, trial: Trial, session: SessionId) -> None:
        """Do a person's later actions in the turn."""


class Streaming(FaultScenario):
    """Half of a model's answer has arrived."""

    wasted = 1

    def __init__(self, variant: int, directory: Path) -> None:
        super().__init__(variant, directory)
        self.answers = (held(self.gate, _LONG, after=1 + variant), DONE)


class Answered(FaultScenario):
    """An answer is stored; its completion is not reported, or its call not claimed or begun."""

    points = ("model.committed", "tool.before_claim", "tool.claimed")


class Running(FaultScenario):
    """A command runs until it is released."""

    answers = (runs("one", hold=True), DONE)

    async def reach(self, trial: Trial, session: SessionId) -> None:
        await trial.effects.reached("one")

    async def leave(self, trial: Trial, session: SessionId) -> None:
        trial.effects.release("one")


class Written(FaultScenario):
    """A file is written; its outcome is not stored, or not reported."""

    answers = (_WRITE, DONE)
    points = ("tool.effect_done", "tool.committed")


class Waiting(FaultScenario):
    """An ask waits for a person."""

    config: ClassVar = {"permission": {"bash": "ask"}}

    async def reach(self, trial: Trial, session: SessionId) -> None:
        self.asks = await trial.harness.wait_for_asks(session)

    async def leave(self, trial: Trial, session: SessionId) -> None:
        for ask in self.asks:
            await send_until_accepted(partial(trial.recording_client.answer, ask))


class Decided(Waiting):
    """A person has just answered, and no worker has noticed yet."""

    async def reach(self, trial: Trial, session: SessionId) -> None:
        await super().reach(trial, session)
        for worker in trial.workers:
            await worker.freeze()
        for ask in self.asks:
            await trial.recording_client.answer(ask)

    async def leave(self, trial: Trial, session: SessionId) -> None:
        for worker in trial.workers:
            if not worker.ended and worker.process.status() == psutil.STATUS_STOPPED:
                worker.wake()


class Renewing(Waiting):
    """A run has just continued as new: between two steps, or with open asks and new prompts."""

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
            run = await trial.harness.workflow(session).describe()
            await renewed(trial, session, run.raw_description.workflow_execution_info.first_run_id)
            return
        self.asks = await trial.harness.wait_for_asks(session, 2)
        before = (await trial.harness.workflow(session).describe()).run_id
        for number in range(self._PROMPTS):
            await trial.recording_client.prompt(session, f"And think of {number}.")
        await renewed(trial, session, before)

    async def finish(self, trial: Trial, session: SessionId) -> None:
        if not self.asks:
            self.asks = await trial.harness.wait_for_asks(session, 2)
            await self.leave(trial, session)


class ChildWorks(FaultScenario):
    """A subagent works: it has just begun, its answer streams, its command runs, or its turn has just ended."""

    answers = (delegates("child"), DONE)
    wasted = 1
    points = ("task.started", "", "", "task.settled")

    def __init__(self, variant: int, directory: Path) -> None:
        super().__init__(variant, directory)
        self.child = (runs("one", hold=True), held(self.gate, after=0) if variant % 4 == 1 else DONE)

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

    answers = (delegates("child"), DONE)
    child = (runs("one"), DONE)

    async def reach(self, trial: Trial, session: SessionId) -> None:
        started = await trial.harness.until(session, lambda event: event.type == "task.started")
        assert isinstance(started, TaskStarted)
        self.asks = await trial.harness.wait_for_asks(started.child)


class Compacting(FaultScenario):
    """A full context gets a summary, which is not asked for yet, streams, or is stored and not reported."""

    answers = (runs("one").model_copy(update={"usage": ScriptedUsage(input=70_000, output=20)}), DONE)
    person: ClassVar = {
        "model": {"limit": {"context": 100_000, "output": 32_000}},
        "compaction": {"preserve_recent_tokens": 0},
    }
    wasted = 1
    points = ("", "model.full", "model.committed:compaction")

    def __init__(self, variant: int, directory: Path) -> None:
        super().__init__(variant, directory)
        self.summary = _SUMMARY if self.faults else held(self.gate, _SUMMARY)


async def renewed(trial: Trial, session: SessionId, before: str | None) -> None:
    """Wait until the session has another run."""
    async for _ in attempts(interval=_RUN_INTERVAL):
        if (await trial.harness.workflow(session).describe()).run_id != before:
            return


SCENARIOS: Final[Mapping[Point, type[FaultScenario]]] = {
    Point.STREAMING: Streaming,
    Point.ANSWERED: Answered,
    Point.RUNNING: Running,
    Point.WRITTEN: Written,
    Point.WAITING: Waiting,
    Point.DECIDED: Decided,
    Point.CHILD_WORKS: ChildWorks,
    Point.CHILD_ASKS: ChildAsks,
    Point.COMPACTING: Compacting,
    Point.RENEWING: Renewing,
}
