"""Long sessions: runs that continue as new lose nothing that waits or arrives (reliability.md rows 12, 40)."""

import pytest

from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import DONE, runs
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.messages import AssistantMessage, CallState, UserMessage
from workflows.domain.permissions.replies import Reply

pytestmark = pytest.mark.acceptance

STEPS = 40


async def test_row_12_open_asks_and_prompts_survive_new_runs_and_a_kill(open_trial: Open) -> None:
    script = (runs("zero"), runs("one", "two", "three"), DONE)
    async with open_trial(*script, history_events=12) as trial:
        trial.harness.configure(permission={"bash": {"*": "ask", "effect zero": "allow"}})
        first = await trial.worker()
        session = await trial.start_session("Run them.")
        one, two, three = await trial.harness.wait_for_asks(session, 3)
        begun = (await trial.harness.workflow(session).describe()).run_id
        await trial.recording_client.answer(one)
        for number in range(4):
            await trial.recording_client.prompt(session, f"And think of {number}.")
        await first.kill()
        await trial.recording_client.answer(two, Reply.REJECT, feedback="not that one")
        await trial.recording_client.answer(three, Reply.REJECT)
        await trial.worker()
        await trial.harness.ended(session, 2)
        now = (await trial.harness.workflow(session).describe()).run_id
        states = [call.state for call in await trial.harness.calls(session)]  # asks are raised in any order
        prompts = [
            message for message in await trial.harness.client.records.transcript(session) if message.role == "user"
        ]
    assert begun != now and len(prompts) == 5
    assert sorted(states) == [CallState.DONE, CallState.DONE, CallState.REFUSED, CallState.REFUSED]


@pytest.mark.timeout(1000)
async def test_row_40_many_steps_leave_a_complete_transcript_over_many_runs(open_trial: Open) -> None:
    reads = [{"filePath": "a.txt", "offset": number, "limit": 1} for number in range(1, STEPS + 1)]
    calls = [ScriptedCall(name="read", arguments=dict(each)) for each in reads]
    script = [ScriptedAnswer(tools=(call,), chunk=100) for call in calls]
    async with open_trial(*script, DONE, history_events=40) as trial:
        trial.harness.file("a.txt", "".join(f"line {number}\n" for number in range(1, STEPS + 1)))
        await trial.worker()
        session = await trial.start_session("Read it, line by line.")
        await trial.listed(session, lambda overview: not overview.working, patience=900)
        transcript = await trial.harness.client.records.transcript(session)
        done = await trial.harness.calls(session)
    answers = [message for message in transcript if isinstance(message, AssistantMessage)]
    assert len(answers) == STEPS + 1 and isinstance(transcript[0], UserMessage)
    said = [call.outcome.output for call in done if call.outcome is not None]
    assert all(f"{number}: line {number}" in text for number, text in enumerate(said, 1)) and len(said) == STEPS
