"""`make faults`: kill what is named at the moments that are named, so many times, and count."""

import argparse
import asyncio
import platform
import sys
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime

import psutil

from tests.acceptance import workers
from tests.acceptance.campaign import Campaign, arguments, parsed
from tests.acceptance.matrix.faults_page import PAGE, MatrixResults, page, summary
from tests.acceptance.matrix.run_trial import MatrixTrials
from tests.acceptance.matrix.trial_plan import CELLS, Cell, CellFault, Point, TrialPlan, spread
from tests.acceptance.stacks import OwnStack
from tests.acceptance.workers import ForkServer
from tests.conftest import new_home, settings_of
from worker.exit_process import exit_process


def main() -> None:
    given = read_arguments()
    cells = [cell for cell in CELLS if given.fault in (None, cell.fault) and _means(cell.point, given.point)]
    if not cells:
        sys.exit(f"There is no such cell to run. Points: {', '.join(Point)}; faults: {', '.join(CellFault)}.")
    campaign = Campaign(given.folder, deque(spread(cells, given.trials or len(cells), given.seed)))
    servers = asyncio.run(play(campaign, given.lanes, given.minutes))
    counts = {cell.key: campaign.counts(cell.covers) for cell in cells}
    figures = MatrixResults(machine=machine(servers), cells=counts)
    show(cells, figures)
    if given.write:
        MatrixResults(machine=figures.machine, cells={**MatrixResults.read().cells, **counts}).write()
        PAGE.write_text(page(), "utf-8")
    exit_process(0 if all(each.sound for each in counts.values()) else 1)


def read_arguments() -> argparse.Namespace:
    parser = arguments("faults", __doc__, lanes=1)
    parser.add_argument("--point", help=f"only this moment: {', '.join(Point)}, or a letter of it")
    parser.add_argument("--fault", type=CellFault, choices=list(CellFault), help="only this fault")
    parser.add_argument("--write", action="store_true", help="write tests/data/faults.json and docs/faults.md")
    return parsed(parser)


async def play(campaign: Campaign[TrialPlan], lanes: int, minutes: float) -> str:
    """Run everything, each lane on a stack of its own; the versions of the servers."""
    campaign.end_after(minutes)
    with workers.fork_server() as fork_server:
        (versions, *_) = await asyncio.gather(*(play_lane(campaign, fork_server) for _ in range(lanes)))
    return versions


async def play_lane(campaign: Campaign[TrialPlan], fork_server: ForkServer) -> str:
    async with OwnStack.running(settings_of(new_home()), fork_server) as stack:
        await campaign.play(MatrixTrials(stack).run)
        return stack.versions()


def show(cells: Sequence[Cell], figures: MatrixResults) -> None:
    """A line per cell, and a summary."""
    for cell in cells:
        of = figures.of(cell)
        print(f"{cell!s:18} {of}; recovery median {of.median:5.1f} s, p95 {of.p95:5.1f} s")
    print(summary(figures))


def machine(servers: str) -> str:
    """Where, under which load and with which versions the trials ran."""
    memory = round(psutil.virtual_memory().total / 2**30)
    load = psutil.getloadavg()[2]
    here = f"{psutil.cpu_count()} cores, {memory} GB and a load of {load:.0f}, {platform.system()} {platform.machine()}"
    return f"Counted on {datetime.now(UTC):%Y-%m-%d} with {here}, Python {platform.python_version()}, {servers}."


def _means(point: Point, name: str | None) -> bool:
    return name is None or point.answers_to(name)


if __name__ == "__main__":
    main()
