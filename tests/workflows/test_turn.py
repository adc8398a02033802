"""Turns: their moves, shown in Temporal's UI; calls that change one file wait for each other."""

import asyncio
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory

from activities.store.journal import session_journal
from tests.activities.rig import wait_for_lock_waiter
from tests.harness import ACTOR, Harness
from tests.histories.history_scenarios import DONE, LOOK, PARALLEL, WRITE, slow_quick_call
from tests.polling import WAIT_TIMEOUT
from tests.workflows.conftest import Open
from tests.workflows.session_runs import MARKER, SCHEDULED, activities, local_calls, session_histories
from worker.connect import DATA_CONVERTER
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from worker.settings import SummaryDetail
from workflows.domain.events.calls import CallClaimed, CallFinished
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import SessionId
from workflows.domain.messages import CallState
from workflows.domain.wake_signal import WAKE, Wake, WakeKind

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
    """The summaries of activities in Temporal's UI."""
    shown = [event.user_metadata.summary for event in history.events if event.event_type in (SCHEDULED, MARKER)]
    return [DATA_CONVERTER.payload_converter.from_payloads([each], [str])[0] for each in shown]


async def shows(harness: Harness, session: SessionId, wanted: str) -> bool:
    """Wait until Temporal's UI shows `wanted` of the run; it is updated after the log."""
    shown = ""
    with suppress(TimeoutError):
        async with asyncio.timeout(WAIT_TIMEOUT):
            while shown != wanted:
                run = harness.workflow(session)
                shown = str((await run.query("__temporal_workflow_metadata")).current_details)
    return shown == wanted


async def test_each_activity_says_what_it_is_about_and_no_contents(open_harness: Open) -> None:
    async with open_harness(WRITE, DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        session = await harness.start_session("Write a.txt.")
        (ask,) = await harness.wait_for_asks(session)
        await harness.answer(ask)
        await harness.ended(session)
        (call,) = await harness.calls(session)
        shown = summaries(await harness.history(session))
    expected = ["look for work", "turn 1 step 1", f"ask {ask} write", f"write {call.id}", "turn 1 step 2", "close done"]
    assert shown == expected


async def test_in_full_a_call_says_what_it_does(open_harness: Open) -> None:
    async with open_harness(LOOK, DONE) as harness, harness.running_worker(summaries=SummaryDetail.FULL):
        session = await harness.start_session("Look.")
        await harness.ended(session)
        assert "glob: *.txt" in summaries(await harness.history(session))


@pytest.mark.parametrize("events", [2000, 12])
async def test_the_run_says_which_answer_it_waits_for(open_harness: Open, events: int) -> None:
    async with open_harness(LOOK, WRITE, DONE) as harness, harness.running_worker():
        harness.set_limits(history_events=events)
        harness.configure(permission={"edit": "ask"})
        session = await harness.start_session("Write a.txt.")
        (ask,) = await harness.wait_for_asks(session)
        assert await shows(harness, session, f"Turn 1: waits for an answer: holdfast asks {ask} (write)")


async def test_edits_of_one_file_all_apply_in_their_order_also_where_one_needs_the_one_before(
    open_harness: Open,
) -> None:
    async with open_harness(EDITS, DONE) as harness, harness.running_worker():
        harness.file("a.txt", "one\n")
        session = await harness.start_session("Count.")
        await harness.ended(session)
        log = await harness.events(session)
    assert (harness.project / "a.txt").read_text() == "four\n"
    kinds = [event.type for event in log if isinstance(event, CallClaimed | CallFinished)]
    assert kinds == ["call.claimed", "call.finished"] * 3


async def test_calls_that_change_nothing_in_common_do_not_wait_for_each_other(open_harness: Open) -> None:
    async with open_harness(MIXED, DONE) as harness, harness.running_worker():
        session = await harness.start_session("Read, and run.")
        await harness.ended(session)
        history = await harness.history(session)
    places = [event.event_id for event in history.events if event.event_type == SCHEDULED]
    ran = [place for place, name in zip(places, activities(history), strict=True) if name == "holdfast.tools.run"]
    assert [place - ran[0] for place in ran] == [0, 1, 2] and local_calls(history) == []


async def test_quick_calls_need_no_tasks_of_their_own(open_harness: Open) -> None:
    async with open_harness(PARALLEL, DONE) as harness, harness.running_worker():
        session = await harness.start_session("Read.")
        await harness.ended(session)
        history, calls = await harness.history(session), await harness.calls(session)
    assert "holdfast.tools.run" not in activities(history)
    assert sorted(local_calls(history)) == sorted(call.id for call in calls)


async def test_a_quick_call_that_is_held_up_gets_a_task_of_its_own(open_harness: Open, tmp_path: Path) -> None:
    async with open_harness(LOOK, DONE) as harness, harness.running_worker():
        harness.file("a.txt", "one\n")
        session = await slow_quick_call(harness, tmp_path)
        history, (call,) = await harness.history(session), await harness.calls(session)
        log = [event.type for event in await harness.events(session)]
    assert call.outcome is not None and "a.txt" in call.outcome.output
    assert local_calls(history) == [call.id] and log.count("call.finished") == 1


async def test_a_signal_during_a_quick_call_before_continue_as_new_has_it_run_again_and_end_once(
    open_harness: Open,
) -> None:
    async with open_harness(LOOK, DONE) as harness, harness.running_worker():
        harness.set_limits(history_events=12)
        session = await harness.start_session("Look.")
        await harness.until(session, lambda event: event.type == "message.completed")
        async with session_journal(harness.database, session, ACTOR) as journal:
            await journal.locked()
            await wait_for_lock_waiter(harness.database)
            await harness.signal(session, WakeKind.RESUME, "prk_1")
        await harness.ended(session)
        log = [event.type for event in await harness.events(session)]
        assert len(await session_histories(harness, session, 2)) > 1
    assert (log.count("call.claimed"), log.count("call.finished")) == (1, 1)


async def test_a_quick_call_of_a_worker_that_ends_is_run_by_the_next_one(open_harness: Open) -> None:
    async with open_harness(LOOK, DONE) as harness:
        async with AsyncExitStack() as locks, harness.running_worker(drain_seconds=0):
            session = await harness.start_session("Look.")
            await harness.until(session, lambda event: event.type == "message.completed")
            journal = await locks.enter_async_context(session_journal(harness.database, session, ACTOR))
            await journal.locked()
            await wait_for_lock_waiter(harness.database)
        async with harness.running_worker():
            await harness.ended(session)
        (call,) = await harness.calls(session)
    assert call.state is CallState.DONE


async def test_a_call_that_fails_for_good_ends_its_turn_although_another_one_waits_for_an_answer(
    open_harness: Open,
) -> None:
    writes = tuple(ScriptedCall(name="write", arguments={"filePath": name, "content": "x"}) for name in ("a", "b"))
    async with open_harness(ScriptedAnswer(tools=writes), DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        session = await harness.start_session("Write both.")
        lost, _ = await harness.wait_for_asks(session, 2)
        async with harness.database.transaction() as connection:
            cursor = await connection.execute("DELETE FROM ask WHERE id = %s RETURNING call", [lost])
            await connection.execute("DELETE FROM call WHERE id = %s", await cursor.fetchone())
        run = harness.workflow(session)
        await run.signal(WAKE, Wake(kind=WakeKind.ANSWER, subject=lost))
        ended = await harness.ended(session)
        assert await harness.client.inbox.asks(session=session) == []
    assert isinstance(ended, TurnEnded) and ended.reason == "failed"
