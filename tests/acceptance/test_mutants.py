"""The checks can fail: workers with one line of ours changed are caught (reliability.md 9)."""

import pytest

from tests.acceptance.conftest import Mutate, Open
from tests.acceptance.scenarios import DONE, EDIT, edit_of_a_zombie, forged_answer, outcome_of_a_zombie, runs

pytestmark = pytest.mark.acceptance


async def test_a_claim_that_takes_a_bell_for_an_answer_is_caught(open_unjudged: Open, mutate: Mutate) -> None:
    rows = "return [ask_row(row) for row in await opened.rows(_QUERIES.of_call, call=call)]"
    blind = rows.replace("ask_row(row)", 'ask_row(row | {"state": "answered", "reply": "once"})')
    async with open_unjudged(runs("one"), DONE) as trial:
        trial.code = mutate("activities/store/asks.py", rows, blind)
        session, ask = await forged_answer(trial)
        await trial.house.ended(session)
        found = await trial.verdict()
    assert [each.invariant for each in found if ask in each.what] == ["I4"]


async def test_an_outcome_that_is_reported_and_not_stored_is_caught(open_unjudged: Open, mutate: Mutate) -> None:
    stored = "await to_its_end(self.settle(held.call, fence, state, outcome))"
    async with open_unjudged(runs("one"), DONE) as trial:
        trial.code = mutate("activities/tools/run.py", stored, "pass")
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
