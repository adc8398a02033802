"""Step overhead: from an answer's last byte to the next request's first one, alone and with twenty sessions."""

from collections.abc import Callable, Sequence
from statistics import median, quantiles
from typing import Final, NamedTuple

from temporalio.client import Client

from bench.breakdown import without_requests
from bench.sides import Called, Conversation, Side, gap, noting, play, rate, reading
from bench.stage import Stage
from bench.table import Budget, Figure

ALONE: Final = Budget(must=1.3, aim=1.0, ratio=True)
TOGETHER: Final = Budget(must=0.7, aim=1.0, ratio=True, at_least=True)
GROWTH: Final = Budget(must=2.0, aim=1.3)
CONSTANT: Final = Budget(must=1.2, aim=1.0)
SESSIONS: Final = 20
LONG: Final = 200  # steps of the sessions that show growth
LONGEST: Final = 1000
OPENING: Final = 9_000_000  # characters of an answer to which a thousand steps add less than a tenth
_SHORT: Final = 25  # steps of those that it is compared with
_SHORTS: Final = 3
_LAST: Final = 50  # steps of the long one that are compared
_ROUNDS: Final = 3
_STEPS: Final = 20
_ROUNDS_TOGETHER: Final = 2
_STEPS_TOGETHER: Final = 5
_PATIENCE: Final = 1200.0  # seconds for a thousand steps

Rounds = list[tuple[list[Conversation], list[Conversation]]]


async def in_turns(
    stage: Stage, ours: Side, floor: Side, rounds: int, *, steps: int, sessions: int = 1, called: Called = reading
) -> Rounds:
    """Both sides one after the other, again and again: what else runs on the machine hits both.

    `called` is what is called on our side; the floor always reads.
    """
    return [
        (
            await play(stage, ours, steps=steps, sessions=sessions, called=called),
            await play(stage, floor, steps=steps, sessions=sessions),
        )
        for _ in range(rounds)
    ]


async def alone(stage: Stage, ours: Side, floor: Side) -> tuple[list[Figure], Rounds]:
    """The overhead of one session at a time, and the rounds that it was found in."""
    before = (_busy(ours), _busy(floor))
    rounds = await in_turns(stage, ours, floor, _ROUNDS, steps=_STEPS)
    mine, theirs = ((_busy(side) - was) / (_ROUNDS * _STEPS) for side, was in zip((ours, floor), before, strict=True))
    pairs = [(gap(mine), gap(theirs)) for mine, theirs in rounds]
    return [
        _compared("step overhead, one session (ms)", pairs, ALONE),
        Figure("worker's CPU time per step (ms)", mine, theirs),
    ], rounds


async def alone_at_length(stage: Stage, ours: Side, floor: Side) -> Figure:
    """The overhead of a step whose call is an activity of its own; no budget is set for it."""
    rounds = await in_turns(stage, ours, floor, _ROUNDS, steps=_STEPS, called=noting)
    return _compared(
        "step overhead, a call with an activity of its own (ms)", [(gap(one), gap(two)) for one, two in rounds]
    )


async def together(stage: Stage, ours: Side, floor: Side) -> Figure:
    """How many steps a second many sessions make together."""
    rounds = await in_turns(stage, ours, floor, _ROUNDS_TOGETHER, steps=_STEPS_TOGETHER, sessions=SESSIONS)
    pairs = [(rate(mine), rate(theirs)) for mine, theirs in rounds]
    return _compared(f"steps per second, {SESSIONS} sessions", pairs, TOGETHER)


class Lengths(NamedTuple):
    """A long session, and short ones played when it had ended: when it began, the machine may have been another."""

    long: Conversation
    short: Sequence[Conversation]

    def ratio(self, typical: Callable[[list[float]], float]) -> float:
        """The last steps of the long one to the first ones of the short ones."""
        return typical(self.long.gaps()[-_LAST:]) / typical([gap for each in self.short for gap in each.gaps(2)])


async def beside_short_ones(stage: Stage, side: Side, long: Conversation, opening: int = 0) -> Lengths:
    """A long session that has just ended, with short ones after it."""
    played = [await play(stage, side, steps=_SHORT, opening=opening) for _ in range(_SHORTS)]
    return Lengths(long, [short for (short,) in played])


async def lengths(stage: Stage, side: Side, steps: int, opening: int = 0) -> Lengths:
    """A session of so many steps, and short ones."""
    (long,) = await play(stage, side, steps=steps, opening=opening, patience=_PATIENCE)
    return await beside_short_ones(stage, side, long, opening)


def growth(ours: Lengths, floor: Lengths, steps: int = LONG) -> list[Figure]:
    """How much slower the last steps of a long session are than the first ones of others; the transcript grows.

    The floor sends the same transcript and reads none: its growth is that of the request alone. The quickest tenths
    stand beside the medians, not judged: where the two differ, other programs have come or gone in between.
    """
    name = f"overhead at step {steps:,} to that at steps 3–25"
    return [
        Figure(name, ours.ratio(median), floor.ratio(median), GROWTH, digits=2),
        Figure("  the same of the quickest tenths", ours.ratio(_quickest), floor.ratio(_quickest), digits=2),
    ]


async def constant(stage: Stage, ours: Side, floor: Side) -> list[Figure]:
    """The same of sessions whose first answer is so long that all that follows hardly adds to the context."""
    figures = []
    for steps in (LONG, LONGEST):
        mine, theirs = [await lengths(stage, side, steps, OPENING) for side in (ours, floor)]
        name = f"overhead at step {steps:,} to that at steps 3–25, one size of context"
        figures.append(Figure(name, mine.ratio(median), theirs.ratio(median), CONSTANT, digits=2))
    return figures


async def growth_of_the_rest(temporal: Client, ours: Lengths, floor: Lengths) -> Figure:
    """The same of all of a step but its request: what grows whatever the context does."""
    mine, theirs = [await _ratio_of_the_rest(temporal, side) for side in (ours, floor)]
    return Figure("  the same but for reading and sending the context", mine, theirs, CONSTANT, digits=2)


async def _ratio_of_the_rest(temporal: Client, side: Lengths) -> float:
    first = [step for each in side.short for step in await without_requests(temporal, each)]
    return median((await without_requests(temporal, side.long))[-_LAST:]) / median(first)


def _quickest(gaps: list[float]) -> float:
    return quantiles(gaps, n=10)[0]


def _busy(side: Side) -> float:
    """Milliseconds of CPU that the side's worker has used: the one time that a busy machine hardly changes."""
    times = side.worker.cpu_times()
    return (times.user + times.system) * 1000


def _compared(name: str, pairs: list[tuple[float, float]], budget: Budget | None = None) -> Figure:
    """The medians, and the median of the rounds' ratios, so that one slow minute does not decide."""
    mine, theirs = zip(*pairs, strict=True)
    return Figure(name, median(mine), median(theirs), budget, median(one / other for one, other in pairs))
