"""Turns.close: a turn ends with every call settled truthfully, and every ask closed."""

import asyncio
from pathlib import Path

import psutil
import pytest
from temporalio.exceptions import ApplicationError

from activities.session.turns import Turns
from activities.store import inbox
from activities.store.prompts import Mode
from activities.tools.read import Read
from tests.activities.conftest import Arm
from tests.activities.probe import effects, probe
from tests.activities.scene import CHAIN, Scene
from tests.house import reached
from workflows.domain.effects import Recovery
from workflows.domain.errors import StaleFence, Unavailable
from workflows.domain.events import AnswerNotRun, AskClosed, TurnEnded
from workflows.domain.messages import CallState
from workflows.domain.permissions.replies import Reply
from workflows.domain.wire import AskState, Closed, CloseReason, CloseRequest

ASK_EDITS = {"permission": {"edit": "ask"}}
WRITE = {"filePath": "a.txt", "content": "x"}


async def test_a_turn_ends_with_its_reason(scene: Scene) -> None:
    await scene.open_turn()
    assert await scene.close(CloseReason.FAILED, error="No key.") == Closed()
    ended = (await scene.events())[-1]
    assert isinstance(ended, TurnEnded) and (ended.turn, ended.reason) == (scene.turn, "failed")
    assert "No key." not in ended.model_dump_json() and ended.note is not None
    (note,) = await scene.database.rows(b"SELECT body FROM note WHERE id = %(id)s", id=ended.note)
    assert note["body"] == "No key."


async def test_closing_twice_is_closing_once(scene: Scene) -> None:
    await scene.open_turn(**ASK_EDITS)
    await scene.asked(await scene.called("write", **WRITE))
    await scene.close()
    events = await scene.events()
    assert await scene.close(CloseReason.STOPPED, attempt=2) == Closed()
    assert await scene.events() == events


async def test_b06_what_was_only_prepared_is_cancelled_and_its_ask_leaves_the_list(scene: Scene) -> None:
    await scene.open_turn(**ASK_EDITS)
    call = await scene.called("write", **WRITE)
    ask = await scene.asked(call)
    await scene.close(CloseReason.STOPPED)
    assert (await scene.state(call), await scene.said(call)) == (CallState.CANCELLED, "Tool execution aborted")
    assert (await scene.ask_row(ask)).state is AskState.CLOSED and await inbox.asks(scene.database) == []
    assert AskClosed(ask=ask, call=call, reason="the turn ended (stopped)") in await scene.events()


async def test_an_answer_that_came_too_late_to_run_is_said_so(scene: Scene) -> None:
    await scene.open_turn(**ASK_EDITS)
    answered, rejected = await scene.answered(("write", WRITE), ("write", {**WRITE, "filePath": "b.txt"}))
    ask = await scene.asked(answered)
    await scene.answer(ask)
    await scene.answer(await scene.asked(rejected), Reply.REJECT)
    await scene.stop()
    await scene.close(CloseReason.STOPPED)
    not_run = [event for event in await scene.events() if isinstance(event, AnswerNotRun)]
    assert not_run == [AnswerNotRun(ask=ask, call=answered)]
    assert not (scene.project / "a.txt").exists()


async def test_an_outcome_that_is_there_stays(scene: Scene) -> None:
    await scene.open_turn()
    call = await scene.called("glob", pattern="*")
    await scene.run(call)
    said = await scene.said(call)
    await scene.close(CloseReason.STOPPED)
    assert (await scene.state(call), await scene.said(call)) == (CallState.DONE, said)


@pytest.mark.parametrize("kind", Recovery)
async def test_what_is_still_claimed_is_told_by_its_class(scene: Scene, kind: Recovery) -> None:
    scene.tools = probe(kind)
    await scene.open_turn()
    call = await scene.called("probe")
    await scene.claim(call)
    await scene.close(CloseReason.STOPPED)
    again = kind in (Recovery.REPEATABLE, Recovery.IDEMPOTENT)
    assert await scene.state(call) is (CallState.CANCELLED if again else CallState.UNKNOWN)
    assert effects(scene.project) == []


@pytest.mark.parametrize(
    ("content", "state"), [("one\n", CallState.CANCELLED), ("two\n", CallState.DONE), ("three\n", CallState.UNKNOWN)]
)
async def test_a_claimed_file_change_is_looked_up(scene: Scene, content: str, state: CallState) -> None:
    await scene.open_turn()
    scene.file("a.txt", "one\n")
    call = await scene.called("edit", filePath="a.txt", oldString="one", newString="two")
    await scene.claim(call)
    scene.file("a.txt", content)
    await scene.close(CloseReason.STOPPED)
    assert await scene.state(call) is state


async def test_a_command_that_still_runs_is_ended_with_its_group(scene: Scene) -> None:
    await scene.open_turn()
    call = await scene.called("bash", command="echo before; sleep 600 & echo $! > begun; wait")
    running = asyncio.create_task(scene.run(call))
    await reached(scene.project / "begun", suffix="")
    await scene.close(CloseReason.STOPPED)
    with pytest.raises(ApplicationError, match="the outcome of"):
        await running
    assert await scene.state(call) is CallState.CANCELLED and (await scene.said(call)).startswith("before")
    assert not psutil.pid_exists(int((scene.project / "begun").read_text()))


async def test_a_claim_of_another_machine_is_unknown(scene: Scene) -> None:
    await scene.open_turn()
    call = await scene.called("bash", command="true")
    await scene.claim(call)
    await scene.close(CloseReason.STOPPED, machine="elsewhere")
    assert await scene.state(call) is CallState.UNKNOWN and "another machine" in await scene.said(call)


async def test_whoever_held_a_claim_can_write_nothing_after_the_close(scene: Scene, arm: Arm, tmp_path: Path) -> None:
    scene.tools = probe(Recovery.ONCE)
    await scene.open_turn()
    call = await scene.called("probe")
    arm(f"tool.claimed=block:{tmp_path / 'gate'}")
    zombie = asyncio.create_task(scene.run(call))
    await reached(tmp_path / "gate")
    await scene.close(CloseReason.STOPPED)
    (tmp_path / "gate").touch()
    with pytest.raises(ApplicationError, match="is refused"):
        await zombie
    assert await scene.state(call) is CallState.UNKNOWN


async def test_a_claim_that_nothing_fits_any_more_is_unknown(scene: Scene) -> None:
    scene.tools = probe(Recovery.ONCE)
    await scene.open_turn()
    call = await scene.called("probe")
    await scene.claim(call)
    scene.tools = {**scene.tools, "probe": Read()}
    await scene.close(CloseReason.STOPPED)
    assert await scene.state(call) is CallState.UNKNOWN


async def test_a_call_that_is_claimed_while_its_turn_is_closed_is_not_just_cancelled(scene: Scene) -> None:
    await scene.open_turn()
    call = await scene.called("bash", command="true")
    await scene.claim(call)
    request = CloseRequest(**scene.place(), turn=scene.turn, reason=CloseReason.STOPPED)
    with pytest.raises(Unavailable, match="closing it again"):
        async with scene.journal() as opened:
            await Turns(scene.database, scene.workshop()).finish(opened, request, scene.turn)
    assert await scene.state(call) is CallState.CLAIMED


async def test_prompts_that_wait_are_reported(scene: Scene) -> None:
    await scene.open_turn()
    await scene.prompt("And then?", mode=Mode.QUEUE)
    assert await scene.close() == Closed(untaken=True)


async def test_the_end_of_the_session_withdraws_what_waits(scene: Scene) -> None:
    await scene.open_turn()
    await scene.prompt("And then?", mode=Mode.QUEUE)
    assert await scene.close(CloseReason.ENDED, end=True) == Closed(ended=True)
    assert (await scene.types())[-3:] == ["session.ended", "prompt.withdrawn", "turn.ended"]


async def test_a_session_may_end_without_a_turn(scene: Scene) -> None:
    assert await scene.close(CloseReason.ENDED, turn=None, end=True) == Closed(ended=True)
    assert (await scene.types())[-1] == "session.ended"


async def test_an_earlier_chain_closes_nothing(scene: Scene) -> None:
    await scene.open_turn()
    scene.chain = CHAIN + 1
    await scene.load()
    with pytest.raises(StaleFence, match="later chain"):
        await scene.close(chain=CHAIN)
    assert "turn.ended" not in await scene.types()
