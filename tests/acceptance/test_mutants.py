"""The checks can fail: workers with one line of ours changed are caught (reliability.md 9)."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.acceptance.conftest import Open
from tests.acceptance.nursery import OURS
from tests.acceptance.scenarios import DONE, EDIT, edit_of_a_zombie, forged_answer, outcome_of_a_zombie, runs

pytestmark = pytest.mark.acceptance

ROOT = Path(__file__).parents[2]
Mutate = Callable[[str, str, str], Path]


@pytest.fixture
def mutate(tmp_path: Path) -> Mutate:
    """Copy our packages, with one line of one file changed."""

    def copy(file: str, line: str, instead: str) -> Path:
        for name in OURS:
            shutil.copytree(ROOT / name, tmp_path / "mutant" / name, ignore=shutil.ignore_patterns("__pycache__"))
        changed = tmp_path / "mutant" / file
        assert changed.read_text().count(line) == 1, f"{file} does not hold {line!r} once: choose another line"
        changed.write_text(changed.read_text().replace(line, instead))
        return tmp_path / "mutant"

    return copy


async def test_a_claim_that_takes_a_bell_for_an_answer_is_caught(open_unjudged: Open, mutate: Mutate) -> None:
    rows = "rows = [ask_row(row) for row in await opened.rows(_QUERIES.of_call, call=call.id)]"
    blind = rows.replace("ask_row(row)", 'ask_row(row | {"state": "answered", "reply": "once"})')
    async with open_unjudged(runs("one"), DONE) as trial:
        trial.code = mutate("activities/store/asks.py", rows, blind)
        session, ask = await forged_answer(trial)
        await trial.house.ended(session)
        found = await trial.verdict()
    assert [each.invariant for each in found if ask in each.what] == ["I4"]


async def test_an_outcome_that_is_reported_and_not_stored_is_caught(open_unjudged: Open, mutate: Mutate) -> None:
    stored = "await self.settle(held.call, fence, state, outcome)\n        await failpoint"
    async with open_unjudged(runs("one"), DONE) as trial:
        trial.code = mutate("activities/tools/run.py", stored, "await failpoint")
        await trial.worker()
        session = await trial.say("Run it.")
        await trial.house.ended(session)
        (call,) = await trial.house.calls(session)
        found = await trial.verdict()
    assert any(each.invariant in ("I3", "I7") and call.id in each.what for each in found)


async def test_a_fence_that_is_not_read_before_an_effect_is_caught(open_unjudged: Open, mutate: Mutate) -> None:
    async with open_unjudged(EDIT) as trial:
        trial.code = mutate("activities/tools/workshop.py", "if state.settled or newest != fence:", "if False:")
        file = await edit_of_a_zombie(trial)
    assert file.read_text() != "a\n"


async def test_a_fence_that_is_not_read_with_an_outcome_is_caught(open_unjudged: Open, mutate: Mutate) -> None:
    async with open_unjudged(runs("one"), DONE) as trial:
        trial.code = mutate("activities/tools/run.py", "if row.fence != fence:", "if False:")
        session = await outcome_of_a_zombie(trial)
        events = [event.type for event in await trial.house.events(session)]
    assert "write.refused" not in events
