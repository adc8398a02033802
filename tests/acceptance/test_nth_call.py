"""The n-th call is lost, whatever calls whom: the session ends as if nothing had been (reliability.md 7, row 49).

A sample here; every n, in every form, by `make faults-nth`.
"""

import re
from itertools import chain
from pathlib import Path

import pytest

from tests.acceptance.nth.account import difference, log
from tests.acceptance.nth.faults import Fault, Form, Kind
from tests.acceptance.nth.run import faults, sampled, told, tried
from tests.acceptance.nth.stand import Stand, Undisturbed
from tests.acceptance.scenarios import Mutate
from tests.acceptance.workers import Nursery
from worker.settings import Settings
from worker.stack.cluster import Cluster
from worker.stack.state import Endpoints
from workflows.domain.events import CallClaimed, CallFinished, CallPrepared, Event
from workflows.domain.ids import PartId, SnapshotId, TurnId

pytestmark = pytest.mark.acceptance

CALL, TURN = PartId("prt_1"), TurnId("trn_1")
SEED = 1
SAMPLES = {
    "statements": {Kind.SQL: 6},
    "others": {Kind.MODEL: 1, Kind.ACTIVITY: 2, Kind.REPORT: 1, Kind.DOOR: 2, Kind.BELL: 1},
}
LANES = 6  # most of a trial is waiting


@pytest.mark.timeout(400)  # trials side by side: where much else runs, they take turns
@pytest.mark.parametrize("sample", SAMPLES)
async def test_row_49_a_session_that_loses_a_call_ends_as_one_that_does_not(
    settings: Settings, stack: Endpoints, template: Cluster, nursery: Nursery, tmp_path: Path, sample: str
) -> None:
    stand = Stand(settings, stack, template, nursery, tmp_path)
    undisturbed = await stand.undisturbed()
    drawn = [sampled(faults(undisturbed, [kind]), count, SEED) for kind, count in SAMPLES[sample].items()]
    found = await tried(stand, undisturbed, chain.from_iterable(drawn), LANES)
    assert len(found) == sum(SAMPLES[sample].values())
    assert not [line for finding in found if finding.problems for line in told(finding)]
    assert sum(not finding.fired for finding in found) <= 1  # how often a running command is looked at is the clock's


async def test_a_program_that_does_not_look_for_its_stored_answer_is_found_out(
    settings: Settings, stack: Endpoints, template: Cluster, nursery: Nursery, tmp_path: Path, mutate: Mutate
) -> None:
    looks = "        return found.stored\n    if found.standing.over or opened.ended:"
    forgets = looks.replace("return found.stored", "pass")
    at_once = "            return await self.commit_held(request, fence, question, new)"
    mutate("activities/model/generate.py", at_once, "            raise Moved")  # it would refuse a second answer
    code = mutate("activities/store/generations.py", looks, forgets)
    stand = Stand(settings, stack, template, nursery, tmp_path / "trials", code)
    found = await stand.disturbed(Fault(Kind.ACTIVITY, Form.AMBIGUOUS, 2), Undisturbed([], {}))
    paid_twice = [problem for problem in found.problems if re.match(r"I8: \d requests for 6 answers", problem)]
    assert found.fired and paid_twice, found.problems


def test_an_account_tells_what_else_has_happened_and_leaves_out_that_it_was_tried_again() -> None:
    prepared = CallPrepared(call=CALL, turn=TURN, step=1, tool="bash", recovery="once", seal="salted")
    claimed = CallClaimed(call=CALL, fence=(1, 1, 1), snapshot=SnapshotId("cfg_1"))
    done = CallFinished(call=CALL, state="done", seal="salted")
    course: list[Event] = [prepared, claimed, done]
    again: list[Event] = [prepared, claimed, claimed.model_copy(update={"fence": (1, 1, 2), "recovered": True}), done]
    other: list[Event] = [prepared, claimed, done.model_copy(update={"state": "unknown"})]
    assert difference(list(log(course)), list(log(again))) == []
    assert len(difference(list(log(course)), list(log(other)))) == 2
    assert len(difference(list(log(course)), list(log([*course, done])))) == 1
