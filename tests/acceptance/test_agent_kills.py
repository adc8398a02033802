"""Agents take turns under faults: a plan is approved once, and the agent that follows works once."""

import pytest

from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import DONE, runs
from worker.scripted.script import DEFAULT_SCRIPT, Script, ScriptedAnswer, ScriptedCall
from workflows.domain.events.prompts import PromptAccepted
from workflows.domain.events.turns import TurnOpened
from workflows.domain.permissions.replies import Reply

pytestmark = pytest.mark.acceptance

LEAVES = ScriptedAnswer(tools=(ScriptedCall(name="plan_exit", arguments={"summary": "Run one."}),))


async def test_an_approved_plan_is_carried_out_once_wherever_its_worker_dies(open_trial: Open) -> None:
    """As the prompt for the agent that follows is accepted, and as that one asks its model for the first time."""
    faults = "tool.effect_done=kill9@1;model.registered:step=kill9@3"
    scripts = {DEFAULT_SCRIPT: Script(answers=(LEAVES, DONE, runs("one"), DONE))}
    async with open_trial(scripts=scripts) as trial:
        trial.effects.release("one")
        trial.harness.configure_person(model={}, default_agent="plan")
        first = await trial.worker(faults=faults)
        session = await trial.start_session("Split the module.")
        (ask,) = await trial.harness.wait_for_asks(session)
        await trial.recording_client.answer(ask, Reply.ANSWER, answers=(("Yes",),))
        await first.killed()
        await trial.replace(await trial.worker(faults=faults))
        await trial.harness.ended(session, 2)
        events = await trial.harness.events(session)
    assert [event.agent for event in events if isinstance(event, TurnOpened)] == ["plan", "build"]
    assert [event.agent for event in events if isinstance(event, PromptAccepted)] == [None, "build"]
    assert trial.effects.count("one") == 1 and len(trial.harness.model.ledger.entries) == 4
