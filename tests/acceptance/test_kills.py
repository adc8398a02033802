"""`kill -9` of the worker around a call: the effect happens once, whatever was written (reliability.md rows 5 to 9)."""

import json
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import TimeoutType

from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import (
    DONE,
    EDIT,
    PATCH,
    PATCHED,
    SLOW,
    TO_PATCH,
    Mutate,
    project_files,
    runs,
    with_shell_of_class_once,
)
from tests.acceptance.trial import Trial
from tests.harness import wait_for_file
from tests.polling import wait_until
from worker.outbox import SignalSender
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.events.calls import CallClaimed
from workflows.domain.messages import CallState, ToolPart
from workflows.domain.permissions.replies import Reply

pytestmark = pytest.mark.acceptance

BOTH = pytest.mark.parametrize("answer", [runs("one"), EDIT], ids=["bash", "edit"])


async def killed_at(
    open_trial: Open, point: str, answer: ScriptedAnswer, code: Path | None = None, arrival: int = 1
) -> tuple[Trial, ToolPart]:
    """A call that a person has allowed meets the death of its worker at a point; the trial, and what became of it."""
    async with open_trial(answer, DONE, heartbeat_seconds=SLOW if code else 3.0) as trial:
        trial.code = code
        for name, content in TO_PATCH.items():
            trial.harness.file(name, content)
        session, ask = await trial.asked(faults=f"{point}=kill9@{arrival}")
        await trial.recording_client.answer(ask)
        await trial.replace(trial.workers[0])
        call = await trial.ended_call(session)
    return trial, call


def done_once(trial: Trial, call: ToolPart) -> bool:
    """Whether the call has had its one effect, and says so."""
    if call.tool == "edit":
        made = (trial.harness.project / "a.txt").read_text() == "ab\n"
    else:
        said = call.outcome.output if call.outcome else ""
        made = "start one\nend one" in said and trial.effects.count("one") == 1
    return made and call.state is CallState.DONE


def told_unknown(trial: Trial, call: ToolPart) -> bool:
    """Whether the call ends unknown, and the model was told so in the very words that a person reads."""
    assert call.outcome is not None and trial.harness.model.last_request is not None
    said = call.outcome.output
    seen = json.dumps(trial.harness.model.last_request.body["messages"])
    return call.state is CallState.UNKNOWN and "effect one" in said and json.dumps(said)[1:-1] in seen


@BOTH
async def test_row_05_a_call_that_was_not_claimed_runs_once(open_trial: Open, answer: ScriptedAnswer) -> None:
    trial, call = await killed_at(open_trial, "tool.before_claim", answer)
    assert done_once(trial, call)


@BOTH
async def test_row_06_a_call_that_was_claimed_and_not_begun_runs_once(open_trial: Open, answer: ScriptedAnswer) -> None:
    trial, call = await killed_at(open_trial, "tool.claimed", answer)
    assert done_once(trial, call)


async def test_row_06_a_claimed_call_that_would_leave_no_trace_ends_unknown(open_trial: Open, mutate: Mutate) -> None:
    trial, call = await killed_at(open_trial, "tool.claimed", runs("one"), with_shell_of_class_once(mutate))
    assert told_unknown(trial, call) and trial.effects.count("one") == 0


async def test_row_07_a_running_command_outlives_its_worker_and_is_followed_to_its_end(open_trial: Open) -> None:
    async with open_trial(runs("one", hold=True), DONE) as trial:
        trial.wasted = 1
        first = await trial.worker()
        session = await trial.start_session("Run it.")
        await trial.effects.reached("one")
        await trial.bystander()
        await first.kill()
        await trial.worker()
        trial.effects.release("one")
        call = await trial.ended_call(session)
        claims = [event for event in await trial.harness.events(session) if isinstance(event, CallClaimed)]
    assert not claims[0].recovered and claims[1:] and all(claim.recovered for claim in claims[1:])
    assert call.state is CallState.DONE and call.outcome is not None
    assert "start one\nend one" in call.outcome.output and trial.effects.count("one") == 1


async def test_row_07_an_edit_is_made_once_when_its_worker_is_killed_half_way(open_trial: Open, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    async with open_trial(EDIT, DONE) as trial:
        file = trial.harness.file("a.txt", "a\n")
        first = await trial.worker(faults=f"tool.claimed=block:{gate}@1")
        session = await trial.start_session("Edit it.")
        await wait_for_file(gate)
        async with trial.ledger_locked():
            gate.touch()
            await wait_until(lambda: any(trial.harness.project.glob(".holdfast-*")))
            await first.kill()
        assert file.read_text() == "a\n"
        await trial.worker()
        call = await trial.ended_call(session)
    assert call.state is CallState.DONE and file.read_text() == "ab\n"


@pytest.mark.parametrize(
    ("point", "arrival"),
    [
        ("tool.before_claim", 1),
        ("tool.claimed", 1),
        *(("tool.changing_file", arrival) for arrival in range(1, 6)),
        ("tool.effect_done", 1),
        ("tool.committed", 1),
    ],
)
async def test_row_07_a_patch_is_made_once_and_whole_wherever_its_worker_is_killed(
    open_trial: Open, point: str, arrival: int
) -> None:
    trial, call = await killed_at(open_trial, point, PATCH, arrival=arrival)
    assert project_files(trial) == PATCHED
    assert call.state is CallState.DONE and call.outcome is not None
    assert call.outcome.output.split("\n")[1:] == ["A b.txt", "M sub/moved.txt", "M a.txt", "D gone.txt"]


async def test_row_07_and_b09_a_running_call_that_leaves_no_trace_ends_unknown_and_is_not_repeated(
    open_trial: Open, mutate: Mutate
) -> None:
    async with open_trial(runs("one", hold=True), DONE, heartbeat_seconds=SLOW) as trial:
        trial.code = with_shell_of_class_once(mutate)
        first = await trial.worker()
        session = await trial.start_session("Run it.")
        await trial.effects.reached("one")
        await first.kill()
        await trial.worker()
        call = await trial.ended_call(session)
        trial.effects.release("one")  # nobody follows it any more, and nobody has ended it
        await wait_until(lambda: not trial.commands())
    assert told_unknown(trial, call) and trial.effects.count("one") == 1


@BOTH
async def test_row_08_and_b07_a_call_whose_outcome_was_not_written_is_found_to_be_done(
    open_trial: Open, answer: ScriptedAnswer
) -> None:
    trial, call = await killed_at(open_trial, "tool.effect_done", answer)
    assert done_once(trial, call)


async def test_row_08_a_call_that_has_left_no_trace_ends_unknown_and_is_not_repeated(
    open_trial: Open, mutate: Mutate
) -> None:
    trial, call = await killed_at(open_trial, "tool.effect_done", runs("one"), with_shell_of_class_once(mutate))
    assert told_unknown(trial, call) and trial.effects.count("one") == 1


@BOTH
async def test_row_09_a_stored_outcome_is_used_as_it_is(open_trial: Open, answer: ScriptedAnswer) -> None:
    trial, call = await killed_at(open_trial, "tool.committed", answer)
    assert done_once(trial, call)


def edited_and_seen(first: str, second: str, *more: str) -> ScriptedAnswer:
    """Two edits of a.txt, from and to these letters, and a command that sees them and does more."""
    edits = ({"filePath": "a.txt", "oldString": each[0], "newString": each[1]} for each in (first, second))
    look = ScriptedCall(name="bash", arguments={"command": "; ".join(("cat a.txt", *more))})
    return ScriptedAnswer(tools=(*(ScriptedCall(name="edit", arguments=each) for each in edits), look))


@pytest.mark.parametrize(
    "point", ["tool.effect_done=kill9@1", "tool.claimed=kill9@2", "tool.committed=kill9@2", "tool.claimed=kill9@3"]
)
async def test_an_answers_calls_keep_their_order_over_a_kill_between_them(open_trial: Open, point: str) -> None:
    async with open_trial(edited_and_seen("ab", "bc", "echo ran >> ran.txt"), DONE) as trial:
        trial.harness.file("a.txt", "a\n")
        await trial.worker(faults=point)
        session = await trial.start_session("Edit, and look.")
        await trial.replace(trial.workers[0])
        await trial.harness.ended(session)
        calls = await trial.harness.calls(session)
    assert [call.state for call in calls] == [CallState.DONE] * 3
    assert calls[2].outcome is not None and calls[2].outcome.output == "c\n"
    assert (trial.harness.project / "ran.txt").read_text() == "ran\n"


async def test_an_edit_that_builds_on_a_refused_one_is_asked_anew_by_the_next_worker(open_trial: Open) -> None:
    async with open_trial(edited_and_seen("a1", "bc"), DONE) as trial:
        trial.harness.configure(permission={"edit": "ask"})
        trial.harness.file("a.txt", "a\nb\n")
        await trial.worker()
        session = await trial.start_session("Edit, and look.")
        await trial.harness.wait_for_asks(session, 2)
        entries = await trial.harness.client.inbox.asks(session=session)
        first, second = (entry.id for entry in sorted(entries, key=lambda entry: len(entry.builds_on)))
        await trial.workers[0].kill()
        await trial.recording_client.answer(first, Reply.REJECT, feedback="keep the a")
        await trial.worker()
        await trial.harness.wait_for_asks(session, 3)
        (entry,) = await trial.harness.client.inbox.asks(session=session)
        await trial.recording_client.answer(entry.id, digest=entry.digest)
        await trial.harness.ended(session)
        calls = await trial.harness.calls(session)
    assert entry.id != second and [call.state for call in calls] == [CallState.REFUSED, CallState.DONE, CallState.DONE]
    assert calls[2].outcome is not None and calls[2].outcome.output == "a\nc\n"


async def test_no_task_waits_for_a_killed_worker_that_was_alone(open_trial: Open) -> None:
    async with open_trial(runs("one"), DONE, sticky_seconds=60.0) as trial:
        session, ask = await trial.asked()
        await trial.workers[0].kill()
        harness = trial.harness
        await SignalSender(harness.database, harness.temporal, harness.settings).forget_worker()  # as `serve` does
        await trial.worker()
        await trial.recording_client.answer(ask)
        await trial.harness.ended(session)
        history = await trial.harness.history(session)
    timed_out = [each.workflow_task_timed_out_event_attributes for each in history.events]
    assert TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START not in [each.timeout_type for each in timed_out]
