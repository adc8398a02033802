"""One turn of 10,000 steps in a window of 100,000 tokens: its steps between the last compactions, beside early ones."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import Final, NamedTuple

import psutil

from activities.cancellation import cancel_and_wait
from bench import systems
from bench.cpu import cpu_seconds, servers
from bench.figure_table import Budget, Figure
from bench.memory import resident
from bench.testbed import WINDOWED, Testbed
from worker.scripted.request_ledger import RequestRecord, StreamEnd
from worker.scripted.script import DEFAULT_SCRIPT, Script, ScriptedAnswer
from worker.session_client import SessionClient
from workflows.domain.ids import SessionId
from workflows.domain.prompt import Prompt

STEPS: Final = 10_000
NO_GROWTH: Final = Budget(must=1.2, aim=1.05, ratio=True)
PEAK: Final = Budget(must=1.1, aim=1.0, ratio=True)  # the allocator keeps some of what it has freed
_QUEUE: Final = "compacted"
_OUTPUT: Final = 1_000  # characters of a step's result
_ANSWERS: Final = 2_000  # more than fit beside each other
_SUMMARY: Final = "## Objective\nRead the notes, again and again.\n\n## Work state\nnone\n\n## Next move\nRead on."
_BESIDE: Final = -1  # the place of an answer that is no step's, such as a summary
_SAMPLES: Final = 2.0  # seconds between two looks at the processes
_EARLY: Final = 1  # the interval between the second and the third compaction
_LEAST: Final = 4  # compactions: else there are no later intervals
_TIMEOUT: Final = 3600.0  # seconds

Interval = Sequence[RequestRecord]  # the steps between two compactions


class Sample(NamedTuple):
    """Megabytes of the worker, and CPU seconds of each part so far."""

    at: datetime
    memory: float
    cpu: dict[str, float]


async def measure_compacted_turn(testbed: Testbed, steps: int = STEPS) -> list[Figure]:
    """To the end of the turn; the scripted model's own ledger says when its requests came."""
    project = systems.project(testbed, _QUEUE, characters=_OUTPUT, agent={"build": {"steps": steps}})
    ours = await systems.start_holdfast(testbed, project, _QUEUE)
    testbed.scripts[DEFAULT_SCRIPT] = _script()  # a conversation without its beginning has no other
    samples: list[Sample] = []
    first = len(testbed.model.ledger.entries)
    async with _sampling(samples, ours.worker, servers(testbed)):
        prompt = Prompt.of_text("Read the notes, again and again.", model=WINDOWED)
        session = (await ours.client.start(str(project), prompt, title=_QUEUE)).session
        async with asyncio.timeout(_TIMEOUT):
            await _until_idle(ours.client, session)
    played = testbed.model.ledger.entries[first:]
    _require_all_steps(played, steps)
    return list(_figures(intervals(played), samples, steps))


def _script() -> Script:
    answers = tuple(
        ScriptedAnswer(text="Reading on.", tools=(systems.read_call(step),), chunk=100) for step in range(_ANSWERS)
    )
    return Script(
        answers=answers,
        auxiliary_answer=ScriptedAnswer(text=_SUMMARY, chunk=100),
        last_answer=ScriptedAnswer(text="That was all."),
    )


async def _until_idle(client: SessionClient, session: SessionId) -> None:
    while (await client.sessions.get(session)).working:
        await asyncio.sleep(_SAMPLES)


def _require_all_steps(played: Interval, steps: int) -> None:
    answered = sum(entry.step != _BESIDE for entry in played)
    odd = [entry for entry in played if entry.end is not StreamEnd.COMPLETE]
    if answered != steps or odd:
        raise RuntimeError(f"{answered} of {steps} steps were answered; not as the script expects: {odd[:3]}")


def intervals(played: Interval) -> list[Interval]:
    """The steps between each compaction and the next."""
    places = [place for place, entry in enumerate(played) if entry.step == _BESIDE]
    return [played[before + 1 : after] for before, after in pairwise(places)]


def _figures(found: Sequence[Interval], samples: Sequence[Sample], steps: int) -> list[Figure]:
    if len(found) < _LEAST - 1:
        raise RuntimeError(f"There were only {len(found) + 1} compactions.")
    early, last = found[_EARLY], found[-1]
    before, after = _during(early, samples), _during(last, samples)
    used, uses = _cpu(early, before), _cpu(last, after)
    peak, first_peak = (max(sample.memory for sample in each) for each in (after, before))
    overhead, first_overhead = (median(_gaps(each)) for each in (last, early))
    name = f"overhead in {steps:,} steps, between the last two compactions, the 2nd and 3rd (ms)"
    return [
        Figure(name, overhead, first_overhead, NO_GROWTH),
        Figure("  CPU per step: all (ms)", sum(uses.values()), sum(used.values()), NO_GROWTH),
        *(Figure(f"  {part}", uses[part], used[part]) for part in uses),
        Figure("  worker's memory at its peaks there (MB)", peak, first_peak, PEAK, digits=0),
        Figure("  compactions", len(found) + 1, digits=0),
    ]


def _gaps(interval: Interval) -> list[float]:
    """Milliseconds from an answer's last byte to the next request."""
    return [(after.began - before.ended).total_seconds() * 1000 for before, after in pairwise(interval)]


def _during(interval: Interval, samples: Sequence[Sample]) -> list[Sample]:
    begin, end = interval[0].began, interval[-1].ended + timedelta(seconds=_SAMPLES)
    return [sample for sample in samples if begin <= sample.at <= end]


def _cpu(interval: Interval, during: Sequence[Sample]) -> dict[str, float]:
    """Milliseconds of each part per step."""
    first, last = during[0], during[-1]
    steps = sum(first.at <= entry.ended <= last.at for entry in interval)
    return {part: (last.cpu[part] - first.cpu[part]) * 1000 / max(steps, 1) for part in first.cpu}


@asynccontextmanager
async def _sampling(
    samples: list[Sample], worker: psutil.Process, others: dict[str, psutil.Process]
) -> AsyncIterator[None]:
    roots = {"worker": worker, **others}

    async def look() -> None:
        while True:
            samples.append(Sample(datetime.now(UTC), resident(worker), cpu_seconds(roots)))
            await asyncio.sleep(_SAMPLES)

    looking = asyncio.create_task(look())
    try:
        yield
    finally:
        await cancel_and_wait(looking)
