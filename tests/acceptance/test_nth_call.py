"""Any n-th call is lost: the session ends as if nothing had happened (reliability.md 7, row 49).

A sample; `make faults-nth` runs every n in every form.
"""

import asyncio
import re
from collections import deque
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest

from tests.acceptance.campaign import Campaign
from tests.acceptance.nth.nth_faults import CallKind, FaultForm, NthFault
from tests.acceptance.nth.reference_session import ANSWERS
from tests.acceptance.nth.run_trial import NthTrials, sampled
from tests.acceptance.scenarios import Mutate
from tests.acceptance.stacks import SharedStack

pytestmark = pytest.mark.acceptance

SEED = 1
SAMPLES = {
    "statements": {CallKind.SQL: 6},
    "others": {CallKind.MODEL: 1, CallKind.ACTIVITY: 2, CallKind.REPORT: 1, CallKind.DOOR: 2, CallKind.SIGNAL: 1},
}
LANES = 6  # most of a trial is waiting


@pytest.mark.parametrize("sample", SAMPLES)
async def test_row_49_a_session_that_loses_a_call_ends_as_one_that_does_not(
    shared_stack: SharedStack, tmp_path: Path, sample: str
) -> None:
    trials = NthTrials(shared_stack)
    await trials.count(tmp_path / "undisturbed")
    drawn = [sampled(trials.faults([kind]), count, SEED) for kind, count in SAMPLES[sample].items()]
    campaign = Campaign(tmp_path, deque(chain.from_iterable(drawn)))
    await asyncio.gather(*(campaign.play(trials.run) for _ in range(LANES)))
    counts = campaign.counts()
    assert counts.trials == sum(SAMPLES[sample].values())
    assert not [(fault, result.problems) for fault, result in campaign.results if result.problems]
    assert counts.not_fired <= 1  # how often a running command is looked at is the clock's


async def test_a_program_that_does_not_look_for_its_stored_answer_is_found_out(
    shared_stack: SharedStack, tmp_path: Path, mutate: Mutate
) -> None:
    looks = "        return await model_answers.read(journal, registered, found.answer)"
    forgets = "        pass"
    optimistic = "    if seen is not None:"
    mutate("activities/store/journal.py", optimistic, "    if False:")  # it would refuse a second answer
    code = mutate("activities/store/generations.py", looks, forgets)
    trials = NthTrials(replace(shared_stack, code=code))
    found = await trials.run(NthFault(CallKind.ACTIVITY, FaultForm.AMBIGUOUS, 2), tmp_path / "trial")
    paid_twice = [
        problem for problem in found.problems if re.match(rf"I8: \d+ requests for {ANSWERS} answers", problem)
    ]
    assert found.fired and paid_twice, found.problems
