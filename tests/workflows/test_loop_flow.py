"""The session loop, case by case: a script, a person's actions, and the outcome."""

import pytest

from tests.cases import Case, load
from tests.workflows.case_player import play
from tests.workflows.conftest import Open
from tests.workflows.documented_differences import DEVIATIONS


@pytest.mark.parametrize("case", load("loop_flow"))
async def test_a_case_of_the_loop(case: Case, open_harness: Open) -> None:
    async with open_harness() as harness, harness.running_worker():
        harness.file("a.txt", "hello\n")
        played = await play(harness, case)
        if case.holdfast is None:
            await played.check_expected()
        else:
            await DEVIATIONS[case.holdfast](played)
