"""Any n-th call is lost: the session ends as if nothing had happened (reliability.md 7, row 49).

A sample; `make faults-nth` runs every n in every form.
"""

import re
from itertools import chain
from pathlib import Path

import pytest

from tests.acceptance.nth.nth_faults import CallKind, FaultForm, NthFault
from tests.acceptance.nth.run_faults import describe_result, faults, run_all, sampled
from tests.acceptance.nth.session_outline import difference, log
from tests.acceptance.nth.trial_stack import Baseline, TrialStack
from tests.acceptance.scenarios import Mutate
from tests.acceptance.workers import ForkServer
from worker.settings import Settings
from worker.stack.cluster import Cluster
from worker.stack.state_file import Endpoints
from workflows.domain.events.calls import CallClaimed, CallFinished, CallPrepared
from workflows.domain.events.event import Event
from workflows.domain.ids import PartId, TurnConfigId, TurnId

pytestmark = pytest.mark.acceptance

CALL, TURN = PartId("prt_1"), TurnId("trn_1")
SEED = 1
SAMPLES = {
    "statements": {CallKind.SQL: 6},
    "others": {CallKind.MODEL: 1, CallKind.ACTIVITY: 2, CallKind.REPORT: 1, CallKind.DOOR: 2, CallKind.SIGNAL: 1},
}
LANES = 6  # most of a trial is waiting


@pytest.mark.timeout(400)  # trials side by side: where much else runs, they take turns
@pytest.mark.parametrize("sample", SAMPLES)
async def test_row_49_a_session_that_loses_a_call_ends_as_one_that_does_not(
    settings: Settings, stack: Endpoints, template: Cluster, fork_server: ForkServer, tmp_path: Path, sample: str
) -> None:
    trial_stack = TrialStack(settings, stack, template, fork_server, tmp_path)
    undisturbed = await trial_stack.undisturbed()
    drawn = [sampled(faults(undisturbed, [kind]), count, SEED) for kind, count in SAMPLES[sample].items()]
    found = await run_all(trial_stack, undisturbed, chain.from_iterable(drawn), LANES)
    assert len(found) == sum(SAMPLES[sample].values())
    assert not [line for finding in found if finding.problems for line in describe_result(finding)]
    assert sum(not finding.fired for finding in found) <= 1  # how often a running command is looked at is the clock's


async def test_a_program_that_does_not_look_for_its_stored_answer_is_found_out(
    settings: Settings, stack: Endpoints, template: Cluster, fork_server: ForkServer, tmp_path: Path, mutate: Mutate
) -> None:
    looks = "        return await _stored_answer(journal, registered, found.answer)"
    forgets = "        pass"
    optimistic = "    if seen is not None:"
    mutate("activities/store/optimistic.py", optimistic, "    if False:")  # it would refuse a second answer
    code = mutate("activities/store/generations.py", looks, forgets)
    trial_stack = TrialStack(settings, stack, template, fork_server, tmp_path / "trials", code)
    found = await trial_stack.disturbed(NthFault(CallKind.ACTIVITY, FaultForm.AMBIGUOUS, 2), Baseline([], {}))
    paid_twice = [problem for problem in found.problems if re.match(r"I8: \d requests for 6 answers", problem)]
    assert found.fired and paid_twice, found.problems


def test_an_account_tells_what_else_has_happened_and_leaves_out_that_it_was_tried_again() -> None:
    prepared = CallPrepared(call=CALL, turn=TURN, step=1, tool="bash", recovery="once", seal="salted")
    claimed = CallClaimed(call=CALL, fence=(1, 1, 1, 1), turn_config=TurnConfigId("cfg_1"))
    done = CallFinished(call=CALL, state="done", seal="salted")
    course: list[Event] = [prepared, claimed, done]
    again: list[Event] = [
        prepared,
        claimed,
        claimed.model_copy(update={"fence": (1, 1, 2, 2), "recovered": True}),
        done,
    ]
    other: list[Event] = [prepared, claimed, done.model_copy(update={"state": "unknown"})]
    assert difference(list(log(course)), list(log(again))) == []
    assert len(difference(list(log(course)), list(log(other)))) == 2
    assert len(difference(list(log(course)), list(log([*course, done])))) == 1
