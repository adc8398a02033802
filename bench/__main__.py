"""`make bench`: the figures of design 12 and those of long sessions, on a stack made for them."""

import argparse
import asyncio
import gc
import os
import platform
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Final

from bench import (
    breakdown,
    checking,
    command_start,
    commits,
    failpoints,
    history,
    memory,
    opencode,
    page,
    postgres,
    processor,
    resumed,
    sides,
    step_overhead,
    volume,
    waiting,
)
from bench.sides import Bare, Ours, play
from bench.stage import Stage, stage
from bench.step_overhead import LONG, LONGEST, OPENING, SESSIONS
from bench.table import Figure, table


class Bench:
    """The stage, and the two sides on it, which come when they are first needed."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._sides: tuple[Ours, Bare] | None = None

    async def sides(self) -> tuple[Ours, Bare]:
        if self._sides is None:
            ours = await sides.ours(self.stage, sides.project(self.stage, "small"))
            self._sides = ours, await sides.bare(self.stage, ours)
        return self._sides


async def _commands(bench: Bench) -> list[Figure]:
    """what a command costs before it does anything"""
    return await command_start.start(bench.stage)


async def _memory(bench: Bench) -> list[Figure]:
    """a worker's memory, before and after its first request"""
    return await memory.worker(bench.stage)


async def _step(bench: Bench) -> list[Figure]:
    """the overhead of a step, in its parts, and its history"""
    ours, floor = await bench.sides()
    overhead, rounds = await step_overhead.alone(bench.stage, ours, floor)
    at_length = await step_overhead.alone_at_length(bench.stage, ours, floor)
    mine, theirs = zip(*rounds, strict=True)
    parts = await breakdown.breakdown(bench.stage.temporal, sum(mine, []), sum(theirs, []))
    sizes = [*await history.plain(bench.stage, ours, floor), *await history.asked(bench.stage, ours, floor)]
    return [*overhead, at_length, *parts, *sizes, await failpoints.unarmed()]


async def _sessions(bench: Bench) -> list[Figure]:
    """twenty sessions at once"""
    ours, floor = await bench.sides()
    together = await step_overhead.together(bench.stage, ours, floor)
    used = memory.after(f"worker's memory after {SESSIONS} sessions (MB)", ours.worker, memory.MANY)
    return [together, used, *await processor.spent(bench.stage, ours, floor)]


async def _database(bench: Bench) -> list[Figure]:
    """what a step costs PostgreSQL, and 200 steps of one session"""
    ours, floor = await bench.sides()
    long, size = await postgres.growing(bench.stage, ours, LONG)
    mine = await step_overhead.beside_short_ones(bench.stage, ours, long)
    (bare,) = await play(bench.stage, floor, steps=LONG)
    theirs = await step_overhead.beside_short_ones(bench.stage, floor, bare)
    rest = await step_overhead.growth_of_the_rest(bench.stage.temporal, mine, theirs)
    return [*step_overhead.growth(mine, theirs), rest, size, *await postgres.traffic(bench.stage)]


async def _commits(bench: Bench) -> list[Figure]:
    """what sixteen sessions commit at once on a slow disk"""
    return await commits.together(bench.stage)


async def _opencode(bench: Bench) -> list[Figure]:
    """OpenCode from npm on the same machine"""
    return await opencode.beside(bench.stage, (await bench.sides())[0])


async def _resume(bench: Bench) -> list[Figure]:
    """a killed worker"""
    return await resumed.resumed(bench.stage)


async def _checking(bench: Bench) -> list[Figure]:
    """commands that take long to check, in other sessions"""
    return await checking.checking(bench.stage)


async def _asks(bench: Bench) -> list[Figure]:
    """a thousand sessions that wait for an answer"""
    return await waiting.asks(bench.stage)


async def _thousand(bench: Bench) -> list[Figure]:
    """1,000 steps of one session"""
    mine, theirs = [await step_overhead.lengths(bench.stage, side, LONGEST) for side in await bench.sides()]
    rest = await step_overhead.growth_of_the_rest(bench.stage.temporal, mine, theirs)
    return [*step_overhead.growth(mine, theirs, LONGEST), rest]


async def _constant(bench: Bench) -> list[Figure]:
    """200 and 1,000 steps that hardly add to the context that they begin with"""
    ours, _ = await bench.sides()
    floor = await sides.bare(bench.stage, ours, opening=OPENING)
    figures = await step_overhead.constant(bench.stage, ours, floor)
    return [*figures, memory.after("worker's memory then (MB)", ours.worker)]


async def _volume(bench: Bench) -> list[Figure]:
    """sessions and lists that are long, through the commands that read them"""
    return [*await volume.long_session(bench.stage), *await volume.crowds(bench.stage)]


_EACH: Final = (
    _commands,
    _memory,
    _step,
    _sessions,
    _database,
    _commits,
    _opencode,
    _resume,
    _thousand,
    _constant,
    _volume,
    _asks,
    _checking,
)
GROUPS: Final[dict[str, Callable[[Bench], Awaitable[list[Figure]]]]] = {
    group.__name__.removeprefix("_"): group for group in _EACH
}


async def main() -> None:
    """Measure, and print the table; with `--write`, put it into docs/performance.md, too."""
    given = _arguments()
    figures: list[Figure] = []
    print(_machine())
    async with stage() as built:
        bench = Bench(built)
        for name in given.only or GROUPS:
            print(f"{name}: {GROUPS[name].__doc__} …", flush=True)
            measured = await GROUPS[name](bench)
            print(table(measured), flush=True)  # now: a later group may fail, or be interrupted
            figures += measured
    print(f"\n{table(figures)}\n\n{_machine()}")
    if given.write:
        page.write(page.PAGE, figures, _machine())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make bench ARGS=…",
        description=__doc__,
        epilog="\n".join(f"{name:10} {group.__doc__}" for name, group in GROUPS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="+", metavar="GROUP", choices=GROUPS, help="some of the groups below (all)")
    parser.add_argument("--write", action="store_true", help=f"put the figures into {page.PAGE.name}, in place of all")
    return parser.parse_args()


def _machine() -> str:
    """What the figures depend on; the load tells how much else runs."""
    one, five, _ = os.getloadavg()
    return (
        f"{os.cpu_count()} cores, load {one:.1f} ({five:.1f} over 5 minutes), Python {platform.python_version()}, "
        f"temporalio {version('temporalio')}, psycopg {version('psycopg')}"
    )


if __name__ == "__main__":
    asyncio.run(main())
    gc.collect()  # a client of Temporal that is still there when the interpreter ends may abort it
