"""`make faults`: kill what is named at the moments that are named, so many times, and count."""

import argparse
import asyncio
import logging
import platform
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import psutil

from tests.acceptance.matrix.campaign import Campaign, is_sound, spread
from tests.acceptance.matrix.cells import CELLS, Cell, CellFault, Point
from tests.acceptance.matrix.faults_page import PAGE, page, summary
from tests.acceptance.matrix.matrix_results import MatrixResults


def main() -> None:
    given = arguments().parse_args()
    logging.getLogger("psycopg").setLevel(logging.CRITICAL)  # an unreachable database is expected here
    cells = [cell for cell in CELLS if given.fault in (None, cell.fault) and _means(cell.point, given.point)]
    if not cells:
        sys.exit(f"There is no such cell to run. Points: {', '.join(Point)}; faults: {', '.join(CellFault)}.")
    folder = given.folder or Path(tempfile.mkdtemp(prefix="holdfast-trials-"))
    campaign = Campaign(folder, spread(cells, given.trials or len(cells), given.seed))
    asyncio.run(campaign.play(given.lanes, given.minutes))
    figures = MatrixResults(
        machine=machine(campaign.servers), cells={cell.key: campaign.figure(cell) for cell in cells}
    )
    show(cells, figures)
    if given.write:
        keep(figures)
    sys.exit(not all(map(is_sound, figures.cells.values())))


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='make faults ARGS="..."', usage="%(prog)s", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first seed of each cell (default: 1)")
    parser.add_argument("--trials", type=int, help="how many in all, spread over the cells (default: one of each)")
    parser.add_argument("--minutes", type=float, default=24 * 60, help="begin no trial after so long")
    parser.add_argument("--point", help=f"only this moment: {', '.join(Point)}, or a letter of it")
    parser.add_argument("--fault", type=CellFault, choices=list(CellFault), help="only this fault")
    parser.add_argument("--lanes", type=int, default=1, help="stacks side by side (default: 1)")
    parser.add_argument("--folder", type=Path, help="where failures are kept (default: a temporary one)")
    parser.add_argument("--write", action="store_true", help="write tests/data/faults.json and docs/faults.md")
    return parser


def show(cells: Sequence[Cell], figures: MatrixResults) -> None:
    """A line per cell, and a summary."""
    for cell in cells:
        of = figures.of(cell)
        counted = f"{of.trials:4} trials, {of.failed} failed, {of.not_fired} not fired"
        print(f"{cell!s:18} {counted}; recovery median {of.median:5.1f} s, p95 {of.p95:5.1f} s")
    print(summary(figures))


def keep(figures: MatrixResults) -> None:
    """Replace the figures of the played cells, and write the page."""
    MatrixResults(machine=figures.machine, cells={**MatrixResults.read().cells, **figures.cells}).write()
    PAGE.write_text(page(), "utf-8")


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
