"""The stack of the trials; each has its own database, queue and worker."""

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
from tests.acceptance.nth import reference_session
from tests.acceptance.nth.nth_faults import CallKind, FaultForm, NthFault, counting, passed
from tests.acceptance.nth.session_outline import difference, session_outline
from tests.acceptance.trial import Trial, trial
from tests.acceptance.workers import ForkServer, WorkerProcess
from worker.connect import connect
from worker.scripted.request_ledger import StreamEnd
from worker.scripted.script import Script
from worker.settings import Settings
from worker.stack.cluster import Cluster
from worker.stack.state_file import Endpoints

_OF_TIME: Final = "I9"  # recovery times are measured elsewhere: here many trials share a machine


@dataclass(frozen=True)
class Baseline:
    """The result of the undisturbed trial, and its calls."""

    account: list[str]
    calls: dict[CallKind, list[str]]


@dataclass(frozen=True)
class FaultResult:
    """One trial; `problems` is empty if all is as undisturbed."""

    fault: NthFault
    fired: bool
    problems: list[str]
    directory: Path


@dataclass
class TrialStack:
    """The trials' shared servers; `code`: a copy of ours for their workers."""

    settings: Settings
    endpoints: Endpoints
    template: Cluster
    fork_server: ForkServer
    directory: Path
    code: Path | None = None
    faults_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    async def undisturbed(self) -> Baseline:
        """Play the session without a fault, and count its calls."""
        async with self.trial(reference_session.scripts(), "undisturbed") as built:
            directory, built.wasted = built.directory, reference_session.REFUSED
            await built.worker(faults=counting(directory, *(kind for kind in CallKind if not kind.at_the_door)))
            async with self.armed(built, counting(directory, *(kind for kind in CallKind if kind.at_the_door))):
                await reference_session.play(built)
            await built.assert_no_violations()
            return Baseline(await outline_of(built), {kind: passed(directory, kind) for kind in CallKind})

    async def disturbed(self, fault: NthFault, expected: Baseline) -> FaultResult:
        """Play it with a fault, and compare; any error is a finding."""
        scripts = reference_session.scripts(fault.n, fault.of_the_server)
        async with self.trial(scripts, str(fault).replace(" ", "-")) as built:
            built.wasted = reference_session.REFUSED + fault.wasted
            try:
                problems = await self.played(built, fault, expected)
            except Exception as error:  # a trial that does not end is a finding
                problems = [f"{type(error).__name__}: {error}"]
            if problems:
                await built.tell()
            return FaultResult(fault, fired(built, fault), problems, built.directory)

    async def played(self, trial: Trial, fault: NthFault, expected: Baseline) -> list[str]:
        """What is wrong at the end of a trial."""
        at_the_door, faults = fault.kind.at_the_door, fault.armed(trial.directory)
        first = await trial.worker(faults="" if at_the_door else faults)
        async with self.armed(trial, faults) if at_the_door else nullcontext():
            await with_another_worker(trial, first, fault)
        violated = [each for each in await trial.verdict() if each.invariant != _OF_TIME]
        return [f"{each.invariant}: {each.what}" for each in violated] + difference(
            expected.account, await outline_of(trial)
        )

    @asynccontextmanager
    async def armed(self, trial: Trial, faults: str) -> AsyncIterator[None]:
        """Arm faults in this process, for the person's client; one trial at a time."""
        async with self.faults_lock:
            failpoints.configure({failpoints.VARIABLE: faults, failpoints.TEST_VARIABLE: str(trial.directory)})
            try:
                yield
            finally:
                failpoints.configure({})

    @asynccontextmanager
    async def trial(self, scripts: Mapping[str, Script], name: str) -> AsyncIterator[Trial]:
        """A furnished trial in its own directory."""
        directory = self.directory / f"{next(self.numbers):03}-{name}"
        directory.mkdir(parents=True)
        own = self.settings.model_copy(update={"task_queue": f"nth-{uuid.uuid4().hex}"})
        temporal = await connect(own, self.endpoints)
        with databases.new_database(self.template) as url:
            endpoints = self.endpoints.model_copy(update={"postgres_url": url})
            async with trial(own, endpoints, temporal, scripts, directory, self.fork_server) as built:
                built.code = self.code
                reference_session.furnish(built)
                yield built


async def with_another_worker(trial: Trial, first: WorkerProcess, fault: NthFault) -> None:
    """Play to the end of the session's run; if the first worker is killed, another takes over."""

    async def replace() -> None:
        await first.killed()
        await trial.worker()

    replacing = [asyncio.create_task(replace())] if fault.form is FaultForm.KILL else []
    try:
        await reference_session.play(trial)
        for overview in await trial.harness.client.sessions.list_recent():
            await trial.asleep(overview)
    finally:
        for task in replacing:
            task.cancel()
        await asyncio.gather(*replacing, return_exceptions=True)


def fired(trial: Trial, fault: NthFault) -> bool:
    """Whether the fault has happened."""
    if fault.of_the_server:
        return any(entry.end is StreamEnd.BROKEN for entry in trial.harness.model.ledger.entries)
    return len(passed(trial.directory, fault.kind)) >= fault.n


async def outline_of(trial: Trial) -> list[str]:
    """The outline of the trial's session and its subagent."""
    first, *below = sorted(await trial.harness.client.sessions.list_recent(), key=lambda each: each.parent is not None)
    return await session_outline(trial, [await trial.records(each.id, resting=True) for each in (first, *below)])
