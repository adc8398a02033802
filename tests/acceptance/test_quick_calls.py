"""Quick calls, which run as a part of a workflow task: its loss has them run again, and they end once all the same."""

import pytest

from tests.acceptance import workflow_histories
from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import DONE, frozen
from tests.harness import Harness
from worker.outbox import workflow_id
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.ids import SessionId
from workflows.domain.messages import CallState

pytestmark = pytest.mark.acceptance

RUN = "holdfast.tools.run"  # as an activity its request holds the turn
LOOK = ScriptedAnswer(tools=(ScriptedCall(name="read", arguments={"filePath": "a.txt"}),))


async def ended_once(harness: Harness, session: SessionId) -> None:
    """The session's one call has one outcome. Its claim is in the commit of that, but if its time was over: then an
    activity has taken it over."""
    (call,) = await harness.calls(session)
    events = [event.type for event in await harness.events(session)]
    histories = await workflow_histories.runs(harness.temporal, workflow_id(session))
    slow = sum("turn" in each.request for each in workflow_histories.activities(histories) if each.name == RUN)
    assert call.state is CallState.DONE and call.outcome is not None and "here" in call.outcome.output
    assert events.count("call.finished") == 1 and 0 <= events.count("call.claimed") - 1 <= slow


@pytest.mark.parametrize("point", ["tool.effect_done", "tool.committed"], ids=["J", "K"])
async def test_a_quick_call_whose_worker_is_killed_runs_again_and_ends_once(open_trial: Open, point: str) -> None:
    async with open_trial(LOOK, DONE) as trial:
        trial.harness.file("a.txt", "here\n")
        first = await trial.worker(faults=f"{point}=kill9@1")
        session = await trial.start_session("Look.")
        await trial.replace(first)
        await trial.harness.ended(session)
        await ended_once(trial.harness, session)
    assert len(trial.harness.model.ledger.entries) == 2


async def test_row_14_a_quick_call_ends_once_when_its_frozen_worker_wakes(open_trial: Open) -> None:
    async with open_trial(LOOK, DONE, DONE) as trial:
        trial.harness.file("a.txt", "here\n")
        async with frozen(trial, "tool.effect_done", "Look.") as session:
            await trial.harness.ended(session)
            await ended_once(trial.harness, session)
        await ended_once(trial.harness, session)
