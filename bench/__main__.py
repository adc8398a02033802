"""`make bench`: the figures of design 12 and those of long sessions, on a stack made for them."""

import argparse
import asyncio
import os
import platform
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Final

from bench import (
    breakdown,
    command_start,
    commits,
    compacted_turn,
    cpu,
    failpoint_cost,
    heals,
    history,
    memory,
    model_wires,
    opencode,
    performance_page,
    postgres,
    prices,
    resume_time,
    slow_checks,
    step_overhead,
    sweep,
    systems,
    volume,
    waiting_sessions,
    watchers,
    wire_memory,
)
from bench.figure_table import Figure, table
from bench.step_overhead import LONG, LONGEST, OPENING, SESSIONS
from bench.systems import BareTemporal, HoldfastSystem, play
from bench.testbed import Testbed, testbed
from worker.exit_process import exit_process


class Bench:
    """The testbed, and the two compared systems, started when first needed."""

    def __init__(self, testbed: Testbed) -> None:
        self.testbed = testbed
        self._sides: tuple[HoldfastSystem, BareTemporal] | None = None

    async def systems(self) -> tuple[HoldfastSystem, BareTemporal]:
        if self._sides is None:
            ours = await systems.start_holdfast(self.testbed, systems.project(self.testbed, "small"))
            self._sides = ours, await systems.start_bare_temporal(self.testbed, ours)
        return self._sides


Measurement = Callable[[Bench], Awaitable[list[Figure]]]


async def _step(bench: Bench) -> list[Figure]:
    ours, floor = await bench.systems()
    overhead, rounds = await step_overhead.alone(bench.testbed, ours, floor)
    beside_local = await step_overhead.alone_beside_local(bench.testbed, ours, floor)
    at_length = await step_overhead.alone_at_length(bench.testbed, ours, floor)
    mine, theirs = zip(*rounds, strict=True)
    parts = await breakdown.breakdown(bench.testbed.temporal, sum(mine, []), sum(theirs, []))
    sizes = [
        *await history.measure_plain_steps(bench.testbed, ours, floor),
        *await history.measure_asked_steps(bench.testbed, ours, floor),
    ]
    return [*overhead, *beside_local, at_length, *parts, *sizes, await failpoint_cost.measure_unarmed()]


async def _sessions(bench: Bench) -> list[Figure]:
    ours, floor = await bench.systems()
    together = await step_overhead.together(bench.testbed, ours, floor)
    used = memory.memory_figure(f"worker's memory after {SESSIONS} sessions (MB)", ours.worker, memory.MANY)
    return [together, used, *await cpu.measure_cpu(bench.testbed, ours, floor)]


async def _database(bench: Bench) -> list[Figure]:
    ours, floor = await bench.systems()
    long, size = await postgres.growing(bench.testbed, ours, LONG)
    mine = await step_overhead.long_and_short(bench.testbed, ours, long)
    (bare,) = await play(bench.testbed, floor, steps=LONG)
    theirs = await step_overhead.long_and_short(bench.testbed, floor, bare)
    rest = await step_overhead.overhead_growth(bench.testbed.temporal, mine, theirs)
    return [*step_overhead.growth(mine, theirs), rest, size, *await postgres.traffic(bench.testbed)]


async def _opencode(bench: Bench) -> list[Figure]:
    return await opencode.compare_opencode(bench.testbed, (await bench.systems())[0])


async def _thousand(bench: Bench) -> list[Figure]:
    mine, theirs = [await step_overhead.lengths(bench.testbed, side, LONGEST) for side in await bench.systems()]
    rest = await step_overhead.overhead_growth(bench.testbed.temporal, mine, theirs)
    return [*step_overhead.growth(mine, theirs, LONGEST), rest]


async def _constant(bench: Bench) -> list[Figure]:
    ours, _ = await bench.systems()
    floor = await systems.start_bare_temporal(bench.testbed, ours, opening=OPENING)
    figures = await step_overhead.constant(bench.testbed, ours, floor)
    return [*figures, memory.memory_figure("worker's memory then (MB)", ours.worker)]


async def _volume(bench: Bench) -> list[Figure]:
    return [*await volume.long_session(bench.testbed), *await volume.crowds(bench.testbed)]


def _on_testbed(measure: Callable[[Testbed], Awaitable[list[Figure]]]) -> Measurement:
    return lambda bench: measure(bench.testbed)


GROUPS: Final[dict[str, tuple[str, Measurement]]] = {
    "commands": (
        "what a command costs before it does anything",
        _on_testbed(command_start.measure_command_start),
    ),
    "memory": ("a worker's memory, before and after its first request", _on_testbed(memory.measure_worker_memory)),
    "step": ("the overhead of a step, in its parts, and its history", _step),
    "sessions": ("twenty sessions at once", _sessions),
    "database": ("what a step costs PostgreSQL, and 200 steps of one session", _database),
    "commits": ("what sixteen sessions commit at once on a slow disk", _on_testbed(commits.measure_commits)),
    "sweep": ("what a sweep costs the database beside many sessions", _on_testbed(sweep.measure_sweep)),
    "opencode": ("OpenCode from npm on the same machine", _opencode),
    "resume": ("a killed worker", _on_testbed(resume_time.measure_resume)),
    "heals": ("sessions that have lost a signal, a run or Temporal's file", lambda _: heals.measure_heals()),
    "thousand": ("1,000 steps of one session", _thousand),
    "constant": ("200 and 1,000 steps that hardly add to the context that they begin with", _constant),
    "compacted": (
        "a quarter of an hour: 10,000 steps of one turn, through their compactions",
        _on_testbed(compacted_turn.measure_compacted_turn),
    ),
    "volume": ("sessions and lists that are long, through the commands that read them", _volume),
    "wires": ("what a request to a model costs, on each wire", lambda _: model_wires.measure_wires()),
    "extras": ("what a worker takes, by the wires in use", lambda _: wire_memory.measure_wire_memory()),
    "prices": ("what a session of 100 steps costs, with each provider's cache", lambda _: prices.measure_prices()),
    "asks": ("a thousand sessions that wait for an answer", _on_testbed(waiting_sessions.measure_waiting_asks)),
    "watching": ("five hundred watchers of quiet sessions", _on_testbed(watchers.measure_watchers)),
    "checking": (
        "commands that take long to check, in other sessions",
        _on_testbed(slow_checks.measure_slow_checks),
    ),
}


async def main() -> None:
    """Measure, and print the table; `--write` also puts it into docs/performance.md, with `--only` in place of those
    rows."""
    given = _arguments()
    figures: list[Figure] = []
    print(_machine())
    async with testbed() as built:
        bench = Bench(built)
        for name in given.only or GROUPS:
            description, measure = GROUPS[name]
            print(f"{name}: {description} …", flush=True)
            measured = await measure(bench)
            print(table(measured), flush=True)  # now: a later group may fail
            figures += measured
    print(f"\n{table(figures)}\n\n{_machine()}")
    if given.write:
        performance_page.write(performance_page.PAGE, figures, _machine(), some=bool(given.only))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make bench ARGS=…",
        description=__doc__,
        epilog="\n".join(f"{name:10} {description}" for name, (description, _) in GROUPS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", nargs="+", metavar="GROUP", choices=GROUPS, help="some of the groups below (all)")
    parser.add_argument(
        "--write", action="store_true", help=f"put the figures into {performance_page.PAGE.name}, in place of theirs"
    )
    return parser.parse_args()


def _machine() -> str:
    """What the figures depend on; the load shows how much else runs."""
    one, five, _ = os.getloadavg()
    return (
        f"{os.cpu_count()} cores, load {one:.1f} ({five:.1f} over 5 minutes), Python {platform.python_version()}, "
        f"temporalio {version('temporalio')}, psycopg {version('psycopg')}"
    )


if __name__ == "__main__":
    asyncio.run(main())
    exit_process(0)
