"""`make bench`: the figures of design 12 that can be had from one run, on a stack made for it."""

import argparse
import asyncio
import gc
import os
import platform
from collections.abc import AsyncIterator
from importlib.metadata import version
from typing import Final

from bench import (
    breakdown,
    command_start,
    failpoints,
    history,
    opencode,
    page,
    postgres,
    processor,
    resumed,
    sides,
    step_overhead,
    volume,
)
from bench.sides import play
from bench.stage import Stage, stage
from bench.step_overhead import LONG, SESSIONS
from bench.table import Budget, Figure, table

MEMORY: Final = Budget(must=450, aim=350)
LONGEST: Final = 1000
_MEGABYTE: Final = 2**20
_PATIENCE: Final = 1200.0


async def main() -> None:
    """Measure, and print the table; with `--write`, put it into docs/performance.md, too."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--write", action="store_true", help=f"put the figures into {page.PAGE.name}")
    which.add_argument("--long", action="store_true", help=f"the figures that take long: see {page.PAGE.name}")
    given = parser.parse_args()
    figures: list[Figure] = []
    print(_machine())
    async with stage() as built:
        async for group in (_long if given.long else _figures)(built):
            figures += group
    print(f"\n{table(figures)}\n\n{_machine()}")
    if given.write:
        page.write(page.PAGE, figures, _machine())


async def _figures(stage: Stage) -> AsyncIterator[list[Figure]]:
    """The figures, group by group."""
    print("Commands …")
    yield await command_start.start(stage)
    ours = await sides.ours(stage, sides.project(stage, "small"))
    floor = await sides.bare(stage, ours)
    print("One session …")
    overhead, rounds = await step_overhead.alone(stage, ours, floor)
    mine, theirs = zip(*rounds, strict=True)
    yield [*overhead, *await breakdown.breakdown(stage.temporal, sum(mine, []), sum(theirs, []))]
    print(f"{SESSIONS} sessions …")
    together = await step_overhead.together(stage, ours, floor)
    memory = ours.worker.memory_info().rss / _MEGABYTE
    yield [together, Figure(f"worker's memory after {SESSIONS} sessions (MB)", memory, None, MEMORY, digits=0)]
    yield await processor.spent(stage, ours, floor)
    print("History …")
    yield await history.plain(stage, ours, floor)
    yield await history.asked(stage, ours, floor)
    print(f"{LONG} steps …")
    long, size = await postgres.growing(stage, ours, LONG)
    yield [*step_overhead.growth(long, (await play(stage, floor, steps=LONG))[0]), size]
    yield await postgres.traffic(stage)
    yield [await failpoints.unarmed()]


async def _long(stage: Stage) -> AsyncIterator[list[Figure]]:
    """The figures of long sessions and of many; they take a quarter of an hour."""
    print("A long session …")
    yield await volume.long_session(stage)
    print("Many asks …")
    yield await volume.crowds(stage)
    ours = await sides.ours(stage, sides.project(stage, "small"))
    print("OpenCode …")
    yield await opencode.beside(stage, ours)
    print("Kills …")
    yield await resumed.resumed(stage)
    floor = await sides.bare(stage, ours)
    print(f"{LONGEST:,} steps …")
    mine, theirs = [(await play(stage, side, steps=LONGEST, patience=_PATIENCE))[0] for side in (ours, floor)]
    yield step_overhead.growth(mine, theirs, LONGEST)


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
