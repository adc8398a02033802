"""Waits on purpose under faults: one row and one outcome, wherever the worker dies."""

import pytest

from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import DONE
from worker.scripted.script import DEFAULT_SCRIPT, Script, ScriptedAnswer, ScriptedCall
from workflows.domain.messages import CallState

pytestmark = pytest.mark.acceptance

WAITS = ScriptedAnswer(tools=(ScriptedCall(name="wait", arguments={"token": "deploy", "at_most": "3d"}),))


async def test_a_wait_is_begun_once_and_keeps_its_poke_wherever_its_worker_dies(open_trial: Open) -> None:
    async with open_trial(scripts={DEFAULT_SCRIPT: Script(answers=(WAITS, DONE))}) as trial:
        first = await trial.worker(faults="wait.begun=kill9@1")
        session = await trial.start_session("Deploy it.")
        await first.killed()
        poked = await trial.harness.client.waits.poke("deploy", "v2 is live")
        second = await trial.worker(faults="tool.effect_done=kill9@1")
        await trial.replace(second)
        call = await trial.ended_call(session)
        events = [event.type for event in await trial.harness.events(session)]
    assert poked.calls == (call.id,) and call.state is CallState.DONE
    assert call.outcome is not None and call.outcome.output.endswith(": v2 is live")
    assert (events.count("wait.begun"), events.count("wait.ended"), events.count("call.finished")) == (1, 1, 1)
    assert len(trial.harness.model.ledger.entries) == 2
