"""The fault matrix: after any kill at any moment, the session comes to the same end (reliability.md 5, 7).

One seed per cell; `make faults` runs more.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.acceptance.matrix.cells import CELLS, Cell, CellFault, Point
from tests.acceptance.matrix.lane import Lane
from tests.acceptance.matrix.run_trial import run
from tests.acceptance.matrix.trial_plan import TrialPlan
from tests.acceptance.scenarios import Mutate

pytestmark = pytest.mark.acceptance

SEED = 1


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.key)
async def test_a_session_comes_to_the_same_end(lane: Lane, cell: Cell, tmp_path: Path) -> None:
    result = await run(lane, TrialPlan.draw(cell, SEED), tmp_path)
    assert result.fired, "the moment was never there"
    assert result.problems == []


async def test_a_cell_is_red_when_a_command_is_lost_with_its_worker(lane: Lane, mutate: Mutate, tmp_path: Path) -> None:
    line = "        if directory.lease() is None:"
    code = mutate("activities/tools/bash.py", line, f'        raise OutcomeUnknown("forgotten")\n{line}')
    directory = tmp_path / "trial"
    directory.mkdir()
    result = await run(replace(lane, code=code), TrialPlan(point=Point.RUNNING, fault=CellFault.WORKER), directory)
    assert result.fired
    assert {problem.partition(":")[0] for problem in result.problems} == {"I3", "transcript differ"}
