"""The session loop, case by case: a script, what a person does, and what comes of it."""

import pytest

from tests.cases import Case, load
from tests.workflows.conftest import Open
from tests.workflows.play import play
from tests.workflows.sentences import HOLDFAST


@pytest.mark.parametrize("case", load("loop_flow"))
async def test_a_case_of_the_loop(case: Case, open_house: Open) -> None:
    async with open_house() as house, house.working():
        house.file("a.txt", "hello\n")
        played = await play(house, case)
        if case.holdfast is None:
            await played.check_expected()
        else:
            await HOLDFAST[case.holdfast](played)
