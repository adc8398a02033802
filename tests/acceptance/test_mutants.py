"""The checks can fail: they catch workers with one changed line of ours (reliability.md 9)."""

import pytest

from tests.acceptance.conftest import Open
from tests.acceptance.effect_ledger import EffectMoment
from tests.acceptance.scenarios import (
    DONE,
    Mutate,
    cut_off_worker,
    forged_answer,
    outcome_of_a_zombie,
    runs,
    unheard_prompt,
    with_lease_per_attempt,
)

pytestmark = pytest.mark.acceptance


async def test_a_claim_that_takes_a_signal_for_an_answer_is_caught(open_unjudged: Open, mutate: Mutate) -> None:
    rows = "return [_checked_against_log(journal, row) for row in await journal.rows(_QUERIES.of_call, call=call)]"
    blind = rows.replace("_checked_against_log(journal, row)", 'ask_row(row | {"state": "answered", "reply": "once"})')
    async with open_unjudged(runs("one"), DONE) as trial:
        trial.code = mutate("activities/store/asks.py", rows, blind)
        session, ask = await forged_answer(trial)
        await trial.harness.ended(session)
        found = await trial.verdict()
    assert [each.invariant for each in found if ask in each.what] == ["I4", "I7"]


async def test_an_outcome_that_is_reported_and_not_stored_is_caught(open_unjudged: Open, mutate: Mutate) -> None:
    stored = "await finish_despite_cancel(retry_while_unavailable(store))"
    async with open_unjudged(runs("one"), DONE) as trial:
        trial.code = mutate("activities/calls/run.py", stored, "pass")
        await trial.worker()
        session = await trial.start_session("Run it.")
        call = await trial.ended_call(session)
        found = await trial.verdict()
    assert any(each.invariant in ("I3", "I7") and call.id in each.what for each in found)


async def test_an_outcome_that_is_written_before_its_effect_is_caught(open_unjudged: Open, mutate: Mutate) -> None:
    works = "done = await effect.run(held.call, recover=held.needs_recovery)"
    early = 'await calls.settle_claimed(self.database, held.call, fence, CallState.DONE, Outcome(output=""))'
    async with open_unjudged(runs("one"), DONE) as trial:
        trial.code = mutate("activities/calls/run.py", works, f"{early}; {works}")
        await trial.worker()
        session = await trial.start_session("Run it.")
        call = await trial.ended_call(session)
        found = await trial.verdict()
    assert any(each.invariant == "I3" and call.id in each.what for each in found)


async def test_a_claim_that_nobody_checks_is_caught(open_unjudged: Open, mutate: Mutate) -> None:
    checked = "return self._take_over(journal, call, turn_status)"
    taken = "calls.reclaim(journal, call, self.fence, turn_status.turn_config); return Claimed(call, False)"
    async with open_unjudged(runs("one"), DONE) as trial:
        with_lease_per_attempt(mutate)
        trial.code = mutate("activities/calls/claim.py", checked, taken)
        first = await trial.worker(faults="tool.effect_done=kill9@1")
        session = await trial.start_session("Run it.")
        await trial.replace(first)
        await trial.harness.ended(session)
        found = await trial.verdict()
    assert any(each.invariant == "I2" and "2 times" in each.what for each in found)


async def test_a_fence_that_is_not_read_before_an_effect_is_caught(open_unjudged: Open, mutate: Mutate) -> None:
    async with open_unjudged(runs("one"), DONE) as trial:
        with_lease_per_attempt(mutate)
        trial.code = mutate("activities/store/calls.py", "if state.settled or newest != list(fence):", "if False:")
        async with cut_off_worker(trial, "tool.claimed", "Run it.") as session:
            await trial.harness.ended(session)
        await trial.effects.reached("one", EffectMoment.END, times=2)
        found = await trial.verdict()
    assert any(each.invariant == "I2" and "2 times" in each.what for each in found)


async def test_a_fence_that_is_not_read_with_an_outcome_is_caught(open_unjudged: Open, mutate: Mutate) -> None:
    async with open_unjudged(runs("one"), DONE) as trial:
        trial.code = mutate("activities/store/calls.py", "if row.fence != fence:", "if False:")
        session = await outcome_of_a_zombie(trial)
        events = [event.type for event in await trial.harness.events(session)]
    assert "write.refused" not in events


async def test_a_sweeper_that_does_not_sweep_is_caught(open_unjudged: Open, mutate: Mutate) -> None:
    async with open_unjudged(DONE, DONE) as trial:
        trial.code = mutate("worker/sweeper.py", "await every(INTERVAL, self.sweep_while_alone, _LOG)", "pass")
        prompt = await unheard_prompt(trial)
        found = await trial.verdict()
    assert [each.invariant for each in found if prompt in each.what] == ["I9"]
