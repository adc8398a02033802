"""A campaign: trials spread over cells and lanes, with running counts."""

import asyncio
import shutil
import signal
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.acceptance import workers
from tests.acceptance.matrix.cells import Cell
from tests.acceptance.matrix.lane import Lane
from tests.acceptance.matrix.matrix_results import CellResult
from tests.acceptance.matrix.run_trial import TrialResult, run
from tests.acceptance.matrix.trial_plan import TrialPlan
from tests.acceptance.workers import ForkServer
from tests.conftest import new_home, remove, settings_of

_LONGEST: Final = 300.0  # seconds: a safety net for a hanging trial
_ALLOWED: Final = 0.02  # of a cell's trials may miss their moment


@dataclass
class Campaign:
    """`folder` holds the failures' evidence; passed trials leave none. `servers`: their versions."""

    folder: Path
    todo: deque[tuple[Cell, int]]
    results: list[tuple[Cell, TrialResult]] = field(default_factory=list)
    servers: str = ""

    async def play(self, lanes: int, minutes: float) -> None:
        """Run everything on `lanes` stacks; after `minutes`, or SIGTERM, no trial begins."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self.todo.clear)
        loop.call_later(60 * minutes, self.todo.clear)
        with workers.fork_server() as fork_server:
            async with asyncio.TaskGroup() as group:
                for _ in range(lanes):
                    group.create_task(self._lane(fork_server))

    async def _lane(self, fork_server: ForkServer) -> None:
        settings = settings_of(new_home())
        try:
            lane = await Lane.start(settings, fork_server)
            self.servers = lane.servers()
            while self.todo:
                await self._trial(lane, *self.todo.popleft())
        finally:
            await remove(settings)

    async def _trial(self, lane: Lane, cell: Cell, seed: int) -> None:
        directory = self.folder / f"{cell.key}-{seed}"
        directory.mkdir(parents=True)
        plan = TrialPlan.draw(cell, seed)
        try:
            async with asyncio.timeout(_LONGEST):
                result = await run(lane, plan, directory)
        except Exception as error:  # of the harness or an undisturbed run: the trial has failed, others go on
            result = TrialResult(plan, fired=True, problems=[f"{type(error).__name__}: {error}"])
        self.results.append((cell, result))
        if result.problems:
            report(cell, result, directory)
        else:
            await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)

    def figure(self, cell: Cell) -> CellResult:
        return count([result for of, result in self.results if of == cell])


def spread(cells: Sequence[Cell], trials: int, seed: int) -> deque[tuple[Cell, int]]:
    """Spread `trials` over the cells in turn; each cell's seeds begin with `seed`."""
    return deque((cells[number % len(cells)], seed + number // len(cells)) for number in range(trials))


def count(results: Sequence[TrialResult]) -> CellResult:
    passed = [result for result in results if result.fired and not result.problems]
    return CellResult(
        trials=len(results),
        not_fired=sum(not result.fired for result in results),
        failed=sum(bool(result.problems) for result in results),
        recoveries=tuple(round(each.recovery, 2) for each in passed if each.recovery is not None),
    )


def is_sound(figure: CellResult) -> bool:
    """Whether a cell is green."""
    return not figure.failed and figure.not_fired <= _ALLOWED * figure.trials


def report(cell: Cell, result: TrialResult, directory: Path) -> None:
    """Print a failure immediately: its place, and how to repeat it."""
    again = f'make faults ARGS="--point {cell.point} --fault {cell.fault} --seed {result.plan.seed} --trials 1"'
    print(f"FAILED {cell}, seed {result.plan.seed}; kept in {directory}; repeat: {again}", file=sys.stderr)
    for problem in result.problems:
        print(f"  {problem[:1000]}", file=sys.stderr)
