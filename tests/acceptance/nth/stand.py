"""Where the trials stand: one stack, and for each trial a database, a queue and a worker of its own."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Final

from activities import failpoints
from tests import databases
from tests.acceptance.nth import reference
from tests.acceptance.nth.account import account, difference
from tests.acceptance.nth.faults import Fault, Form, Kind, counting, passed
from tests.acceptance.trial import Trial, trial
from tests.acceptance.workers import Nursery, WorkerProcess
from worker.connect import connect
from worker.scripted.ledger import End
from worker.scripted.script import Script
from worker.settings import Settings
from worker.stack.cluster import Cluster
from worker.stack.state import Endpoints

_OF_TIME: Final = "I9"  # how soon it goes on is measured elsewhere: here many trials share a machine


@dataclass(frozen=True)
class Undisturbed:
    """The course without a fault: what it came to, and which calls it made."""

    account: list[str]
    calls: dict[Kind, list[str]]


@dataclass(frozen=True)
class Finding:
    """How one trial went; `problems` is empty when all is as in the undisturbed course."""

    fault: Fault
    fired: bool
    problems: list[str]
    directory: Path


@dataclass
class Stand:
    """The servers that all trials share; `code` is a copy of ours that their workers run instead."""

    settings: Settings
    endpoints: Endpoints
    template: Cluster
    nursery: Nursery
    directory: Path
    code: Path | None = None
    door: asyncio.Lock = field(default_factory=asyncio.Lock)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    async def undisturbed(self) -> Undisturbed:
        """Play the session without a fault, and count its calls."""
        async with self.trial(reference.scripts(), "undisturbed") as built:
            directory, built.wasted = built.directory, reference.REFUSED
            await built.worker(faults=counting(directory, *(kind for kind in Kind if not kind.at_the_door)))
            async with self.armed(built, counting(directory, *(kind for kind in Kind if kind.at_the_door))):
                await reference.play(built)
            await built.passes()
            return Undisturbed(await told(built), {kind: passed(directory, kind) for kind in Kind})

    async def disturbed(self, fault: Fault, expected: Undisturbed) -> Finding:
        """Play it with a fault, and compare; whatever goes wrong is a finding."""
        scripts = reference.scripts(fault.n, fault.of_the_server)
        async with self.trial(scripts, str(fault).replace(" ", "-")) as built:
            built.wasted = reference.REFUSED + fault.wasted
            try:
                problems = await self.played(built, fault, expected)
            except Exception as error:  # a trial that does not come to its end is what we look for
                problems = [f"{type(error).__name__}: {error}"]
            if problems:
                await built.tell()
            return Finding(fault, fired(built, fault), problems, built.directory)

    async def played(self, trial: Trial, fault: Fault, expected: Undisturbed) -> list[str]:
        """What is not as it should be when a trial has come to its end."""
        at_the_door, faults = fault.kind.at_the_door, fault.armed(trial.directory)
        first = await trial.worker(faults="" if at_the_door else faults)
        async with self.armed(trial, faults) if at_the_door else nullcontext():
            await with_another_worker(trial, first, fault)
        violated = [each for each in await trial.verdict() if each.invariant != _OF_TIME]
        return [f"{each.invariant}: {each.what}" for each in violated] + difference(expected.account, await told(trial))

    @asynccontextmanager
    async def armed(self, trial: Trial, faults: str) -> AsyncIterator[None]:
        """Arm faults in this process, where the person's door is; one trial at a time can."""
        async with self.door:
            failpoints.configure({failpoints.VARIABLE: faults, failpoints.TEST_VARIABLE: str(trial.directory)})
            try:
                yield
            finally:
                failpoints.configure({})

    @asynccontextmanager
    async def trial(self, scripts: Mapping[str, Script], name: str) -> AsyncIterator[Trial]:
        """A trial in a directory of its own, furnished."""
        directory = self.directory / f"{next(self.numbers):03}-{name}"
        directory.mkdir(parents=True)
        own = self.settings.model_copy(update={"task_queue": f"nth-{uuid.uuid4().hex}"})
        temporal = await connect(own, self.endpoints)
        with databases.fresh(self.template) as url:
            endpoints = self.endpoints.model_copy(update={"postgres_url": url})
            async with trial(own, endpoints, temporal, scripts, directory, self.nursery) as built:
                built.code = self.code
                reference.furnish(built)
                yield built


async def with_another_worker(trial: Trial, first: WorkerProcess, fault: Fault) -> None:
    """Play to the end of the session's run; when the first worker is killed, another one takes over."""

    async def replace() -> None:
        await first.killed()
        await trial.worker()

    replacing = [asyncio.create_task(replace())] if fault.form is Form.KILL else []
    try:
        await reference.play(trial)
        for overview in await trial.house.client.sessions():
            await trial.asleep(overview)
    finally:
        for task in replacing:
            task.cancel()
        await asyncio.gather(*replacing, return_exceptions=True)


def fired(trial: Trial, fault: Fault) -> bool:
    """Whether the fault has come to pass."""
    if fault.of_the_server:
        return any(entry.end is End.BROKEN for entry in trial.house.model.ledger.entries)
    return len(passed(trial.directory, fault.kind)) >= fault.n


async def told(trial: Trial) -> list[str]:
    """The account of the trial's session, and of its subagent's."""
    first, *below = sorted(await trial.house.client.sessions(), key=lambda each: each.parent is not None)
    return await account(trial, [await trial.records(each.id, resting=True) for each in (first, *below)])
