"""Deploys: what a session meets when the code of its worker changes (reliability.md row 45, bug B25)."""

import pytest

from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import DONE, Mutate, runs
from tests.polling import slowness
from worker.scripted.script import Script

pytestmark = pytest.mark.acceptance

SHOWN_WITHIN = 30.0  # seconds until a session whose workflow task keeps failing is shown as stuck (bug B25)


async def test_row_45_and_b25_a_session_stuck_on_a_bug_holds_up_no_other_and_goes_on_with_mended_code(
    open_unjudged: Open, mutate: Mutate
) -> None:
    scripts = {"plain": Script(answers=(DONE,)), "calls": Script(answers=(runs("one"), DONE))}
    async with open_unjudged(scripts=scripts) as trial:
        line = "self.turn.add_answer(step)"
        trial.code = mutate("workflows/turn.py", line, f"{line}; assert not step.calls, 'a bug'")
        faulty = await trial.worker()
        stuck = await trial.start_session("[[script:calls]] Run it.")
        await trial.listed(stuck, lambda overview: overview.stuck is not None, patience=SHOWN_WITHIN * slowness())
        await trial.harness.ended(await trial.start_session("[[script:plain]] Hello?"))
        await faulty.kill()
        trial.code = None
        await trial.worker()
        await trial.harness.ended(stuck)
        await trial.listed(stuck, lambda overview: overview.stuck is None)
        found = await trial.verdict()
    failures = [each.what for each in found if each.invariant == "I7"]
    assert failures and all("a bug" in what for what in failures)
    assert {each.invariant for each in found} <= {"I7", "I9"}  # the engine pauses before it tries a failed task again
    assert trial.effects.count("one") == 1
