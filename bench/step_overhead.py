"""Step overhead: from an answer's last byte to the next request's first, alone and with twenty sessions."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median, quantiles
from typing import Final, NamedTuple

from temporalio.client import Client

from bench.breakdown import without_requests
from bench.figure_table import Budget, Figure
from bench.systems import BareTemporal, CallFactory, PlayedSession, System, gap, play, rate, read_call, todo_call
from bench.testbed import Testbed

ALONE: Final = Budget(must=1.3, aim=1.0, ratio=True)
ALONE_LOCAL: Final = Budget(must=1.1, aim=1.0, ratio=True)
CPU_LOCAL: Final = Budget(must=1.25, aim=1.0, ratio=True)
TOGETHER: Final = Budget(must=0.7, aim=1.0, ratio=True, at_least=True)
GROWTH: Final = Budget(must=2.0, aim=1.3)
CONSTANT: Final = Budget(must=1.2, aim=1.0)
SESSIONS: Final = 20
LONG: Final = 200  # steps of the sessions that show growth
LONGEST: Final = 1000
OPENING: Final = 9_000_000  # characters of an answer; a thousand steps add less than a tenth
_SHORT: Final = 25  # steps of the short sessions
_SHORTS: Final = 3
_LAST: Final = 50  # compared steps of the long one
_ROUNDS: Final = 3
_STEPS: Final = 20
_ROUNDS_TOGETHER: Final = 2
_STEPS_TOGETHER: Final = 5
_TIMEOUT: Final = 1200.0  # seconds for a thousand steps

Rounds = list[tuple[list[PlayedSession], list[PlayedSession]]]


async def alternate(
    testbed: Testbed,
    ours: System,
    floor: System,
    rounds: int,
    *,
    steps: int,
    sessions: int = 1,
    called: CallFactory = read_call,
) -> Rounds:
    """Play both sides in turns: other load on the machine hits both.

    `called` makes our side's calls; the floor always reads.
    """
    return [
        (
            await play(testbed, ours, steps=steps, sessions=sessions, called=called),
            await play(testbed, floor, steps=steps, sessions=sessions),
        )
        for _ in range(rounds)
    ]


async def alone(testbed: Testbed, ours: System, floor: System) -> tuple[list[Figure], Rounds]:
    """The overhead of one session at a time, and its rounds."""
    rounds, (mine, theirs) = await _rounds_alone(testbed, ours, floor)
    return [
        _compared("step overhead, one session (ms)", _gaps(rounds), ALONE),
        Figure("worker's CPU time per step (ms)", mine, theirs),
    ], rounds


async def alone_beside_local(testbed: Testbed, ours: System, floor: BareTemporal) -> list[Figure]:
    """The same beside a floor whose tool is a local activity."""
    rounds, (mine, theirs) = await _rounds_alone(testbed, ours, replace(floor, local=True))
    return [
        _compared("  step overhead, the floor's tool local (ms)", _gaps(rounds), ALONE_LOCAL),
        Figure("  worker's CPU time per step, the floor's tool local (ms)", mine, theirs, CPU_LOCAL),
    ]


async def _rounds_alone(testbed: Testbed, ours: System, floor: System) -> tuple[Rounds, list[float]]:
    """And the CPU milliseconds of a step, of both."""
    sides = (ours, floor)
    before = [_cpu_milliseconds(side) for side in sides]
    rounds = await alternate(testbed, ours, floor, _ROUNDS, steps=_STEPS)
    cpu = [(_cpu_milliseconds(side) - was) / (_ROUNDS * _STEPS) for side, was in zip(sides, before, strict=True)]
    return rounds, cpu


async def alone_at_length(testbed: Testbed, ours: System, floor: System) -> Figure:
    """The overhead of a step whose call is its own activity; without a budget."""
    rounds = await alternate(testbed, ours, floor, _ROUNDS, steps=_STEPS, called=todo_call)
    return _compared("step overhead, a call with an activity of its own (ms)", _gaps(rounds))


async def together(testbed: Testbed, ours: System, floor: System) -> Figure:
    rounds = await alternate(testbed, ours, floor, _ROUNDS_TOGETHER, steps=_STEPS_TOGETHER, sessions=SESSIONS)
    pairs = [(rate(mine), rate(theirs)) for mine, theirs in rounds]
    return _compared(f"steps per second, {SESSIONS} sessions", pairs, TOGETHER)


class Lengths(NamedTuple):
    """A long session, and short ones played after it: the machine may have changed since its start."""

    long: PlayedSession
    short: Sequence[PlayedSession]

    def ratio(self, typical: Callable[[list[float]], float]) -> float:
        """The long one's last steps to the short ones' first."""
        return typical(self.long.gaps()[-_LAST:]) / typical([gap for each in self.short for gap in each.gaps(2)])


async def long_and_short(testbed: Testbed, side: System, long: PlayedSession, opening: int = 0) -> Lengths:
    played = [await play(testbed, side, steps=_SHORT, opening=opening) for _ in range(_SHORTS)]
    return Lengths(long, [short for (short,) in played])


async def lengths(testbed: Testbed, side: System, steps: int, opening: int = 0) -> Lengths:
    (long,) = await play(testbed, side, steps=steps, opening=opening, timeout=_TIMEOUT)
    return await long_and_short(testbed, side, long, opening)


def growth(ours: Lengths, floor: Lengths, steps: int = LONG) -> list[Figure]:
    """How much slower a long session's last steps are than other sessions' first; the transcript grows.

    The floor's growth is the request's alone. The quickest tenths differ if other programs came or went in between.
    """
    name = f"overhead at step {steps:,} to that at steps 3–25"
    return [
        Figure(name, ours.ratio(median), floor.ratio(median), GROWTH, digits=2),
        Figure("  the same of the quickest tenths", ours.ratio(_quickest), floor.ratio(_quickest), digits=2),
    ]


async def constant(testbed: Testbed, ours: System, floor: System) -> list[Figure]:
    """The same for sessions whose first answer is so long that the rest hardly adds to the context."""
    figures = []
    for steps in (LONG, LONGEST):
        mine, theirs = [await lengths(testbed, side, steps, OPENING) for side in (ours, floor)]
        name = f"overhead at step {steps:,} to that at steps 3–25, one size of context"
        figures.append(Figure(name, mine.ratio(median), theirs.ratio(median), CONSTANT, digits=2))
    return figures


async def overhead_growth(temporal: Client, ours: Lengths, floor: Lengths) -> Figure:
    """The same for a step without its request: growth that does not depend on the context."""
    mine, theirs = [await _overhead_ratio(temporal, side) for side in (ours, floor)]
    return Figure("  the same but for reading and sending the context", mine, theirs, CONSTANT, digits=2)


async def _overhead_ratio(temporal: Client, side: Lengths) -> float:
    first = [step for each in side.short for step in await without_requests(temporal, each)]
    return median((await without_requests(temporal, side.long))[-_LAST:]) / median(first)


def _gaps(rounds: Rounds) -> list[tuple[float, float]]:
    return [(gap(mine), gap(theirs)) for mine, theirs in rounds]


def _quickest(gaps: list[float]) -> float:
    return quantiles(gaps, n=10)[0]


def _cpu_milliseconds(side: System) -> float:
    """CPU milliseconds of the side's worker: a busy machine hardly changes them."""
    times = side.worker.cpu_times()
    return (times.user + times.system) * 1000


def _compared(name: str, pairs: list[tuple[float, float]], budget: Budget | None = None) -> Figure:
    """The medians, and the median of the rounds' ratios, so that one slow minute does not decide."""
    mine, theirs = zip(*pairs, strict=True)
    return Figure(name, median(mine), median(theirs), budget, median(one / other for one, other in pairs))
