"""The fault matrix: whatever is killed, at whatever moment, the session comes to the same end (reliability.md 5, 7).

One seed of each cell; `make faults` runs as many as are wanted.
"""

from pathlib import Path

import pytest

from tests.acceptance.matrix.cells import CELLS, Cell
from tests.acceptance.matrix.lane import Lane
from tests.acceptance.matrix.plan import Plan
from tests.acceptance.matrix.run import run

pytestmark = pytest.mark.acceptance

SEED = 1


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.key)
async def test_a_session_comes_to_the_same_end(lane: Lane, cell: Cell, tmp_path: Path) -> None:
    result = await run(lane, Plan.draw(cell, SEED), tmp_path)
    assert result.fired, "the moment was never there"
    assert result.problems == []
