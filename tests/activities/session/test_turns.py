"""Turns.close: a turn ends with every call settled truthfully, and every ask closed."""

import asyncio
from pathlib import Path

import psutil
import pytest
from temporalio.exceptions import ApplicationError

from activities.session.turns import TurnActivities
from activities.store import waiting_items
from activities.tools.read import ReadTool
from tests.activities.conftest import Arm
from tests.activities.probe_tool import effects, probe
from tests.activities.rig import ActivityRig
from tests.harness import wait_for_file
from workflows.domain.effects import Recovery
from workflows.domain.errors import StaleFence, Unavailable
from workflows.domain.events.asks import AnswerNotRun, AskClosed
from workflows.domain.events.turns import TurnEnded
from workflows.domain.messages import CallState
from workflows.domain.permissions.replies import Reply
from workflows.domain.prompt import PromptMode
from workflows.domain.wire import AskState, CloseReason, CloseRequest, CloseResult

ASK_EDITS = {"permission": {"edit": "ask"}}
WRITE = {"filePath": "a.txt", "content": "x"}
NOT_BEGUN = "Not run: the turn ended before this call began."


async def test_a_turn_ends_with_its_reason(rig: ActivityRig) -> None:
    await rig.open_turn()
    assert await rig.close(CloseReason.FAILED, error="No key.") == CloseResult()
    ended = (await rig.events())[-1]
    assert isinstance(ended, TurnEnded) and (ended.turn, ended.reason) == (rig.turn, "failed")
    assert "No key." not in ended.model_dump_json() and ended.note is not None
    (note,) = await rig.database.rows(b"SELECT body FROM note WHERE id = %(id)s", id=ended.note)
    assert note["body"] == "No key."


async def test_closing_twice_is_closing_once(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK_EDITS)
    await rig.asked(await rig.called("write", **WRITE))
    await rig.close()
    events = await rig.events()
    assert await rig.close(CloseReason.STOPPED, attempt=2) == CloseResult()
    assert await rig.events() == events


@pytest.mark.parametrize(
    ("reason", "waited"),
    [
        (CloseReason.STOPPED, "Not run: the user stopped the turn while this call waited for an answer."),
        (CloseReason.FAILED, NOT_BEGUN),
    ],
)
async def test_b06_what_was_only_prepared_is_cancelled_and_its_ask_leaves_the_list(
    rig: ActivityRig, reason: CloseReason, waited: str
) -> None:
    await rig.open_turn(**ASK_EDITS)
    call, unasked = await rig.answered(("write", WRITE), ("bash", {"command": "true"}))
    ask = await rig.asked(call)
    await rig.close(reason)
    assert [await rig.state(each) for each in (call, unasked)] == [CallState.CANCELLED] * 2
    assert [await rig.output(each) for each in (call, unasked)] == [waited, NOT_BEGUN]
    assert (await rig.ask_row(ask)).state is AskState.CLOSED and await waiting_items.pending_asks(rig.database) == []
    assert AskClosed(ask=ask, call=call, reason=f"the turn ended ({reason})") in await rig.events()


async def test_an_answer_that_came_too_late_to_run_is_reported(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK_EDITS)
    answered, rejected = await rig.answered(("write", WRITE), ("write", {**WRITE, "filePath": "b.txt"}))
    ask = await rig.asked(answered)
    await rig.answer(ask)
    await rig.answer(await rig.asked(rejected), Reply.REJECT)
    await rig.stop()
    await rig.close(CloseReason.STOPPED)
    not_run = [event for event in await rig.events() if isinstance(event, AnswerNotRun)]
    assert not_run == [AnswerNotRun(ask=ask, call=answered)]
    assert not (rig.project / "a.txt").exists()


async def test_a_recorded_outcome_stays(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await rig.called("glob", pattern="*")
    await rig.run(call)
    output = await rig.output(call)
    await rig.close(CloseReason.STOPPED)
    assert (await rig.state(call), await rig.output(call)) == (CallState.DONE, output)


@pytest.mark.parametrize("kind", Recovery)
async def test_a_claimed_call_ends_by_its_recovery_class(rig: ActivityRig, kind: Recovery) -> None:
    rig.tools = probe(kind)
    await rig.open_turn()
    call = await rig.called("probe")
    await rig.claim(call)
    await rig.close(CloseReason.STOPPED)
    again = kind in (Recovery.REPEATABLE, Recovery.IDEMPOTENT)
    assert await rig.state(call) is (CallState.CANCELLED if again else CallState.UNKNOWN)
    assert ("stopped the turn while this call ran: it was ended" in await rig.output(call)) == again
    assert effects(rig.project) == []


@pytest.mark.parametrize(
    ("content", "state"), [("one\n", CallState.CANCELLED), ("two\n", CallState.DONE), ("three\n", CallState.UNKNOWN)]
)
async def test_a_claimed_file_change_is_looked_up(rig: ActivityRig, content: str, state: CallState) -> None:
    await rig.open_turn()
    rig.file("a.txt", "one\n")
    call = await rig.called("edit", filePath="a.txt", oldString="one", newString="two")
    await rig.claim(call)
    rig.file("a.txt", content)
    await rig.close(CloseReason.STOPPED)
    assert await rig.state(call) is state


async def test_a_command_that_still_runs_is_ended_with_its_group(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await rig.called("bash", command="echo before; sleep 600 & echo $! > begun; wait")
    running = asyncio.create_task(rig.run(call))
    await wait_for_file(rig.project / "begun", suffix="")
    await rig.close(CloseReason.STOPPED)
    with pytest.raises(ApplicationError, match="the outcome of"):
        await running
    assert await rig.state(call) is CallState.CANCELLED and (await rig.output(call)).startswith("before")
    assert " s after this command began; it was ended" in await rig.output(call)
    assert not psutil.pid_exists(int((rig.project / "begun").read_text()))


async def test_a_claim_of_another_machine_is_unknown(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await rig.called("bash", command="true")
    await rig.claim(call)
    await rig.close(CloseReason.STOPPED, machine="elsewhere")
    assert await rig.state(call) is CallState.UNKNOWN and "another machine" in await rig.output(call)


async def test_the_holder_of_a_claim_can_write_nothing_after_the_close(
    rig: ActivityRig, arm: Arm, tmp_path: Path
) -> None:
    rig.tools = probe(Recovery.ONCE)
    await rig.open_turn()
    call = await rig.called("probe")
    arm(f"tool.claimed=block:{tmp_path / 'gate'}")
    zombie = asyncio.create_task(rig.run(call))
    await wait_for_file(tmp_path / "gate")
    await rig.close(CloseReason.STOPPED)
    (tmp_path / "gate").touch()
    with pytest.raises(ApplicationError, match="is refused"):
        await zombie
    assert await rig.state(call) is CallState.UNKNOWN


async def test_a_claim_that_nothing_fits_any_more_is_unknown(rig: ActivityRig) -> None:
    rig.tools = probe(Recovery.ONCE)
    await rig.open_turn()
    call = await rig.called("probe")
    await rig.claim(call)
    rig.tools = {**rig.tools, "probe": ReadTool()}
    await rig.close(CloseReason.STOPPED)
    assert await rig.state(call) is CallState.UNKNOWN


async def test_a_call_that_is_claimed_while_its_turn_is_closed_is_not_just_cancelled(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await rig.called("bash", command="true")
    await rig.claim(call)
    request = CloseRequest(**rig.request_fields(), turn=rig.turn, reason=CloseReason.STOPPED)
    with pytest.raises(Unavailable, match="closing it again"):
        async with rig.journal() as journal:
            await TurnActivities(rig.database, rig.call_effects()).close_turn(journal, request, rig.turn)
    assert await rig.state(call) is CallState.CLAIMED


async def test_prompts_that_wait_are_reported(rig: ActivityRig) -> None:
    await rig.open_turn()
    await rig.prompt("And then?", mode=PromptMode.QUEUE)
    assert await rig.close() == CloseResult(prompts_waiting=True)


async def test_the_end_of_the_session_withdraws_what_waits(rig: ActivityRig) -> None:
    await rig.open_turn()
    await rig.prompt("And then?", mode=PromptMode.QUEUE)
    assert await rig.close(CloseReason.ENDED, end=True) == CloseResult(ended=True)
    assert (await rig.types())[-3:] == ["session.ended", "prompt.withdrawn", "turn.ended"]


async def test_a_session_may_end_without_a_turn(rig: ActivityRig) -> None:
    assert await rig.close(CloseReason.ENDED, turn=None, end=True) == CloseResult(ended=True)
    assert (await rig.types())[-1] == "session.ended"


async def test_an_earlier_epoch_closes_nothing(rig: ActivityRig) -> None:
    await rig.open_turn()
    earlier = rig.epoch
    await rig.load()
    with pytest.raises(StaleFence, match="later epoch"):
        await rig.close(epoch=earlier)
    assert "turn.ended" not in await rig.types()


async def test_a_turn_whose_run_has_not_seen_its_last_step_is_not_closed(rig: ActivityRig) -> None:
    await rig.open_turn()
    await rig.answered()
    await rig.answered()
    for reason in (CloseReason.DONE, CloseReason.FAILED, CloseReason.REJECTED):
        with pytest.raises(StaleFence, match="has begun step 2: its run has seen 1"):
            await rig.close(reason, step=1)
    assert "turn.ended" not in await rig.types()
    await rig.close(step=2)
    assert "turn.ended" in await rig.types()


@pytest.mark.parametrize("reason", [CloseReason.STOPPED, CloseReason.ENDED])
async def test_a_stop_closes_a_turn_whatever_step_it_has_begun(rig: ActivityRig, reason: CloseReason) -> None:
    await rig.open_turn()
    await rig.answered()
    await rig.close(reason, step=0)
    assert "turn.ended" in await rig.types()


async def test_a_close_takes_no_claim_from_an_equal_attempt_of_another_execution(rig: ActivityRig) -> None:
    """A Temporal that was rolled back gives out the same request again."""
    await rig.open_turn()
    call, fence = await rig.called("glob", pattern="*"), rig.fence()
    await rig.claim(call, fence)
    with pytest.raises(StaleFence, match="claimed by a later attempt"):
        await rig.close(sequence=fence.sequence)
    assert (await rig.row(call)).fence == fence
    await rig.close()
    assert (await rig.row(call)).settled
