"""One trial of the n-th call: the reference session, in which a call is lost."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from activities import failpoints
from activities.cancellation import cancel_and_wait
from tests.acceptance.campaign import fault_result, undisturbed_outline
from tests.acceptance.fault_counts import FaultResult
from tests.acceptance.nth import reference_session
from tests.acceptance.nth.nth_faults import CallKind, FaultForm, NthFault, counting, passed
from tests.acceptance.stacks import SharedStack
from tests.acceptance.trial import Trial
from tests.acceptance.workers import WorkerProcess
from worker.scripted.request_ledger import StreamEnd

_OF_TIME = "I9"  # recovery times are measured elsewhere: here many trials share a machine
_AT_THE_DOOR = [kind for kind in CallKind if kind.at_the_door]


@dataclass(frozen=True)
class NthTrials:
    """The trials on one stack, with the outline and the calls of the undisturbed one."""

    stack: SharedStack
    outline: list[str] = field(default_factory=list)
    calls: dict[CallKind, list[str]] = field(default_factory=dict)
    client_lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def count(self, directory: Path) -> None:
        """Play the session without a fault, and count its calls."""
        async with self.stack.trial(reference_session.scripts(), directory) as trial:
            trial.wasted = reference_session.REFUSED
            await trial.worker(faults=counting(directory, *set(CallKind).difference(_AT_THE_DOOR)))
            async with self.armed(trial, counting(directory, *_AT_THE_DOOR)):
                await reference_session.play(trial)
            self.outline[:] = await undisturbed_outline(trial)
            self.calls.update({kind: passed(directory, kind) for kind in CallKind})

    def faults(
        self, kinds: Iterable[CallKind] = CallKind, forms: Iterable[FaultForm] = FaultForm, numbers: range | None = None
    ) -> list[NthFault]:
        """Every fault of these kinds and forms, at these numbers, which count from 1."""
        return [
            NthFault(kind, form, n)
            for kind in kinds
            for n in range(1, len(self.calls[kind]) + 1)
            for form in kind.forms
            if form in forms and (numbers is None or n in numbers)
        ]

    async def run(self, fault: NthFault, directory: Path) -> FaultResult:
        """Play it with a fault, and compare."""
        scripts = reference_session.scripts(fault.n, fault.of_the_server)
        async with self.stack.trial(scripts, directory) as trial:
            trial.wasted = reference_session.REFUSED + fault.wasted
            at_the_door, faults = fault.kind.at_the_door, fault.armed(directory)
            first = await trial.worker(faults="" if at_the_door else faults)
            async with self.armed(trial, faults) if at_the_door else nullcontext():
                await play_with_another_worker(trial, first, fault)
            return replace(await fault_result(trial, self.outline, ignored=_OF_TIME), fired=fired(trial, fault))

    @asynccontextmanager
    async def armed(self, trial: Trial, faults: str) -> AsyncIterator[None]:
        """Arm faults in this process, for the person's client; one trial at a time."""
        async with self.client_lock:
            failpoints.configure({failpoints.VARIABLE: faults, failpoints.TEST_VARIABLE: str(trial.directory)})
            try:
                yield
            finally:
                failpoints.configure({})


def sampled(every: Sequence[NthFault], count: int, seed: int) -> list[NthFault]:
    """`count` of them, evenly spread, starting by the seed; another number of calls shifts them little."""
    stride = max(1.0, len(every) / count)
    first = Random(seed).random() * stride
    return [every[int(first + stride * place)] for place in range(min(count, len(every)))]


async def play_with_another_worker(trial: Trial, first: WorkerProcess, fault: NthFault) -> None:
    """Play to the end of the session's run; if the first worker is killed, another takes over."""
    replacing = [asyncio.create_task(trial.replace(first))] if fault.form is FaultForm.KILL else []
    try:
        await reference_session.play(trial)
        for overview in await trial.harness.client.sessions.list_recent():
            await trial.asleep(overview.id)
    finally:
        await cancel_and_wait(*replacing)


def fired(trial: Trial, fault: NthFault) -> bool:
    """Whether the fault has happened."""
    if fault.of_the_server:
        return any(entry.end is StreamEnd.BROKEN for entry in trial.harness.model.ledger.entries)
    return len(passed(trial.directory, fault.kind)) >= fault.n
