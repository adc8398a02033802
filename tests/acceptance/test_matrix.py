"""The fault matrix: after any kill at any moment, the session comes to the same end (reliability.md 5, 7).

One seed per cell; `make faults` runs more.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.acceptance.matrix.run_trial import MatrixTrials
from tests.acceptance.matrix.trial_plan import CELLS, Cell, CellFault, Point, TrialPlan
from tests.acceptance.scenarios import Mutate
from tests.acceptance.stacks import OwnStack

pytestmark = pytest.mark.acceptance

SEED = 1


@pytest.fixture(scope="module")
def trials(own_stack: OwnStack) -> MatrixTrials:
    """The trials of this process, which share their undisturbed runs."""
    return MatrixTrials(own_stack)


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.key)
async def test_a_session_comes_to_the_same_end(trials: MatrixTrials, cell: Cell, tmp_path: Path) -> None:
    result = await trials.run(TrialPlan.draw(cell, SEED), tmp_path)
    assert result.fired, "the moment was never there"
    assert result.problems == []


async def test_a_cell_is_red_when_a_command_is_lost_with_its_worker(
    trials: MatrixTrials, mutate: Mutate, tmp_path: Path
) -> None:
    line = "        if directory.lease() is None:"
    code = mutate("activities/tools/bash.py", line, f'        raise OutcomeUnknown("forgotten")\n{line}')
    mutant = replace(trials, stack=replace(trials.stack, code=code))
    result = await mutant.run(TrialPlan(point=Point.RUNNING, fault=CellFault.WORKER), tmp_path / "trial")
    violated = {problem.partition(":")[0] for problem in result.problems if problem[0] not in "-+"}
    assert result.fired and violated == {"I3"}
    assert any(problem.startswith("-0 message") for problem in result.problems), "the transcript differs, too"
