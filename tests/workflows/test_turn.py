"""Turns: one move after the other, told to the stock UI; calls that change one file wait for each other."""

import asyncio
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory

from activities.store.bells import Bell, BellKind
from activities.store.journal import journal
from tests.activities.scene import somebody_waits
from tests.histories.scenarios import DONE, LOOK, PARALLEL, WRITE, held_up
from tests.house import ACTOR, House
from tests.patience import PATIENCE
from tests.workflows.conftest import Open
from tests.workflows.runs import MARKER, SCHEDULED, activities, chain, run_within
from worker.bells import workflow_id
from worker.connect import DATA_CONVERTER
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from worker.settings import Detail
from workflows.domain.events import CallClaimed, CallFinished, TurnEnded
from workflows.domain.ids import SessionId
from workflows.domain.messages import CallState
from workflows.domain.wire import AnswerRef

EDITS = ScriptedAnswer(
    tools=tuple(
        ScriptedCall(name="edit", arguments={"filePath": "a.txt", "oldString": old, "newString": new})
        for old, new in (("one", "two"), ("two", "three"), ("three", "four"))
    )
)

MIXED = ScriptedAnswer(
    tools=(*PARALLEL.tools[:2], ScriptedCall(name="bash", arguments={"command": "true", "description": "Nothing"}))
)


def summaries(history: WorkflowHistory) -> list[str]:
    """What the stock UI shows beside each activity."""
    shown = [event.user_metadata.summary for event in history.events if event.event_type in (SCHEDULED, MARKER)]
    return [DATA_CONVERTER.payload_converter.from_payloads([each], [str])[0] for each in shown]


async def shows(house: House, session: SessionId, wanted: str) -> bool:
    """Wait until the stock UI shows this of the whole run, which is told of its activities' ends after the log."""
    shown = ""
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            while shown != wanted:
                run = house.temporal.get_workflow_handle(workflow_id(session))
                shown = str((await run.query("__temporal_workflow_metadata")).current_details)
    return shown == wanted


async def test_each_activity_says_what_it_is_about_and_no_contents(open_house: Open) -> None:
    async with open_house(WRITE, DONE) as house, house.working():
        house.configure(permission={"edit": "ask"})
        session = await house.say("Write a.txt.")
        (ask,) = await house.asked(session)
        await house.answer(ask)
        await house.ended(session)
        (call,) = await house.calls(session)
        shown = summaries(await house.history(session))
    expected = ["look for work", "turn 1 step 1", f"ask {ask} write", f"write {call.id}", "turn 1 step 2", "close done"]
    assert shown == expected


async def test_in_full_a_call_says_what_it_does(open_house: Open) -> None:
    async with open_house(LOOK, DONE) as house, house.working(summaries=Detail.FULL):
        session = await house.say("Look.")
        await house.ended(session)
        assert "glob: *.txt" in summaries(await house.history(session))


@pytest.mark.parametrize("events", [2000, 12])
async def test_the_run_says_which_answer_it_waits_for(open_house: Open, events: int) -> None:
    async with open_house(LOOK, WRITE, DONE) as house, house.working():
        house.hurry(history_events=events)
        house.configure(permission={"edit": "ask"})
        session = await house.say("Write a.txt.")
        (ask,) = await house.asked(session)
        assert await shows(house, session, f"Turn 1: waits for an answer: holdfast asks {ask} (write)")


async def test_edits_of_one_file_all_apply_in_their_order_also_where_one_needs_the_one_before(
    open_house: Open,
) -> None:
    async with open_house(EDITS, DONE) as house, house.working():
        house.file("a.txt", "one\n")
        session = await house.say("Count.")
        await house.ended(session)
        log = await house.events(session)
    assert (house.project / "a.txt").read_text() == "four\n"
    kinds = [event.type for event in log if isinstance(event, CallClaimed | CallFinished)]
    assert kinds == ["call.claimed", "call.finished"] * 3


async def test_calls_that_change_nothing_in_common_do_not_wait_for_each_other(open_house: Open) -> None:
    async with open_house(MIXED, DONE) as house, house.working():
        session = await house.say("Read, and run.")
        await house.ended(session)
        history = await house.history(session)
    places = [event.event_id for event in history.events if event.event_type == SCHEDULED]
    ran = [place for place, name in zip(places, activities(history), strict=True) if name == "holdfast.tools.run"]
    assert [place - ran[0] for place in ran] == [0, 1, 2] and run_within(history) == []


async def test_quick_calls_need_no_tasks_of_their_own(open_house: Open) -> None:
    async with open_house(PARALLEL, DONE) as house, house.working():
        session = await house.say("Read.")
        await house.ended(session)
        history, calls = await house.history(session), await house.calls(session)
    assert "holdfast.tools.run" not in activities(history)
    assert sorted(run_within(history)) == sorted(call.id for call in calls)


async def test_a_quick_call_that_is_held_up_gets_a_task_of_its_own(open_house: Open, tmp_path: Path) -> None:
    async with open_house(LOOK, DONE) as house, house.working():
        house.file("a.txt", "one\n")
        session = await held_up(house, tmp_path)
        history, (call,) = await house.history(session), await house.calls(session)
        log = [event.type for event in await house.events(session)]
    assert call.outcome is not None and "a.txt" in call.outcome.output
    assert run_within(history) == [call.id] and log.count("call.finished") == 1


async def test_a_bell_beside_a_quick_call_before_the_run_leaves_has_it_run_again_and_end_once(open_house: Open) -> None:
    async with open_house(LOOK, DONE) as house, house.working():
        house.hurry(history_events=12)
        session = await house.say("Look.")
        await house.until(session, lambda event: event.type == "message.completed")
        async with journal(house.database, session, ACTOR) as opened:
            await opened.locked()
            await somebody_waits(house.database)
            await house.client.ring(Bell(kind=BellKind.RESUME, id="prk_1", session=session))
        await house.ended(session)
        log = [event.type for event in await house.events(session)]
        assert len(await chain(house, session, 2)) > 1
    assert (log.count("call.claimed"), log.count("call.finished")) == (1, 1)


async def test_a_quick_call_of_a_worker_that_ends_is_run_by_the_next_one(open_house: Open) -> None:
    async with open_house(LOOK, DONE) as house:
        async with AsyncExitStack() as locks, house.working(drain_seconds=0):
            session = await house.say("Look.")
            await house.until(session, lambda event: event.type == "message.completed")
            opened = await locks.enter_async_context(journal(house.database, session, ACTOR))
            await opened.locked()
            await somebody_waits(house.database)
        async with house.working():
            await house.ended(session)
        (call,) = await house.calls(session)
    assert call.state is CallState.DONE


async def test_a_call_that_fails_for_good_ends_its_turn_although_another_one_waits_for_an_answer(
    open_house: Open,
) -> None:
    writes = tuple(ScriptedCall(name="write", arguments={"filePath": name, "content": "x"}) for name in ("a", "b"))
    async with open_house(ScriptedAnswer(tools=writes), DONE) as house, house.working():
        house.configure(permission={"edit": "ask"})
        session = await house.say("Write both.")
        lost, _ = await house.asked(session, 2)
        async with house.database.transaction() as connection:
            cursor = await connection.execute("DELETE FROM ask WHERE id = %s RETURNING call", [lost])
            await connection.execute("DELETE FROM call WHERE id = %s", await cursor.fetchone())
        run = house.temporal.get_workflow_handle(workflow_id(session))
        await run.signal("answer", AnswerRef(ask=lost))
        ended = await house.ended(session)
        assert await house.client.asks(session=session) == []
    assert isinstance(ended, TurnEnded) and ended.reason == "failed"
