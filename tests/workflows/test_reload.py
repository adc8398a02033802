"""A run loads its rows again in place: where it is refused as stale, or a signal asks for it."""

import asyncio
from pathlib import Path

import pytest

from activities.session.answers import answer_ask
from activities.store import stops
from activities.store.journal import session_journal
from tests.harness import ACTOR, Harness, wait_for_file
from tests.histories.history_scenarios import DONE, WRITE, put_back
from tests.polling import WAIT_TIMEOUT
from tests.workflows.conftest import Open
from tests.workflows.delegation import FOUND, children, delegates, delegation_scripts
from tests.workflows.session_runs import activities, session_histories
from worker.scripted.script import Hold, ScriptedAnswer, ScriptedCall
from workflows.domain.events.sessions import SessionSuspended
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import SessionId, StopId
from workflows.domain.messages import CallState
from workflows.domain.permissions.replies import AskDecision, Reply
from workflows.domain.suspension import SuspendReason
from workflows.domain.wake_signal import WAKE, Wake, WakeKind

LOAD = "holdfast.project.load"
RUN = "holdfast.tools.run"
CLOSE = "holdfast.turns.close"


@pytest.fixture
def with_sweeper() -> bool:
    """Nothing but the run itself may repair anything."""
    return False


async def epoch(harness: Harness, session: SessionId) -> int:
    query = b"SELECT epoch FROM session_head WHERE session = %(session)s"
    (row,) = await harness.database.rows(query, session=session)
    found: int = row["epoch"]
    return found


async def overtake(harness: Harness, session: SessionId) -> None:
    """Give out an epoch to somebody else, as a load does whose run is gone."""
    await harness.database.rows(
        b"UPDATE session_head SET epoch = epoch + 1 WHERE session = %(session)s", session=session
    )


async def wake(harness: Harness, session: SessionId, kind: WakeKind = WakeKind.REFRESH) -> None:
    await harness.workflow(session).signal(WAKE, Wake(kind=kind))


async def loaded(harness: Harness, session: SessionId, newest: int) -> None:
    """Wait until this epoch has been given out."""
    async with asyncio.timeout(WAIT_TIMEOUT):
        while await epoch(harness, session) < newest:
            await asyncio.sleep(0.02)


async def of_one_run(harness: Harness, session: SessionId) -> list[str]:
    """The activities of the session's only run."""
    (history,) = await session_histories(harness, session)
    return activities(history)


@pytest.mark.parametrize("kind", [WakeKind.REFRESH, WakeKind.RESUME])
async def test_a_run_that_waits_for_a_person_loads_on_a_signal_and_waits_on(open_harness: Open, kind: WakeKind) -> None:
    async with open_harness(WRITE, DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        session = await harness.start_session("Write a.txt.")
        (ask,) = await harness.wait_for_asks(session)
        for times in (2, 3):
            await wake(harness, session, kind)
            await loaded(harness, session, times)
        await harness.answer(ask)
        ended = await harness.ended(session)
        log = [event.type for event in await harness.events(session)]
        done = await of_one_run(harness, session)
    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert (log.count("ask.raised"), log.count("call.claimed"), log.count("write.refused")) == (1, 1, 0)
    assert done.count(LOAD) == 3


async def test_a_call_that_is_refused_as_stale_runs_after_a_load_in_place(open_harness: Open) -> None:
    async with open_harness(WRITE, DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        session = await harness.start_session("Write a.txt.")
        (ask,) = await harness.wait_for_asks(session)
        await overtake(harness, session)
        await harness.answer(ask)
        ended = await harness.ended(session)
        log = [event.type for event in await harness.events(session)]
        done = await of_one_run(harness, session)
    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert (harness.project / "a.txt").read_text() == "a"
    assert (log.count("write.refused"), log.count("call.claimed"), log.count("ask.raised")) == (1, 1, 1)
    assert done[-5:] == [RUN, LOAD, RUN, "holdfast.model.generate", CLOSE]
    assert len(harness.model.ledger.entries) == 2


async def test_a_run_that_has_seen_more_than_its_log_has_is_suspended_and_loads_the_rows_as_they_are(
    open_harness: Open, tmp_path: Path
) -> None:
    async with open_harness(WRITE, DONE) as harness, harness.running_worker():
        session = await put_back(harness, tmp_path)
        (suspended,) = [event for event in await harness.events(session) if isinstance(event, SessionSuspended)]
        done = activities(await harness.history(session))
    assert (suspended.reason, suspended.was) == (SuspendReason.BEHIND, "99")
    assert done[:2] == [LOAD, LOAD] and done[-3:] == [RUN, "holdfast.model.generate", CLOSE]
    assert len(harness.model.ledger.entries) == 2


async def test_an_answer_that_was_begun_under_an_earlier_epoch_is_kept_and_paid_once(
    open_harness: Open, tmp_path: Path
) -> None:
    held = WRITE.model_copy(update={"text": "So.", "faults": {1: Hold(after=1, path=str(tmp_path / "gate"))}})
    async with open_harness(held, DONE) as harness, harness.running_worker():
        session = await harness.start_session("Write a.txt.")
        await wait_for_file(tmp_path / "gate")
        await overtake(harness, session)
        (tmp_path / "gate").touch()
        ended = await harness.ended(session)
        done = await of_one_run(harness, session)
    assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert (harness.project / "a.txt").read_text() == "a"
    assert len(harness.model.ledger.entries) == 2 and done.count(LOAD) == 2


async def test_nothing_is_loaded_while_an_activity_is_in_flight(open_harness: Open) -> None:
    command = "touch begun; until [ -e go ]; do sleep 0.05; done"
    slow = ScriptedCall(name="bash", arguments={"command": command})
    async with open_harness(ScriptedAnswer(tools=(slow,)), DONE) as harness, harness.running_worker():
        harness.configure(permission={"*": "allow"})
        session = await harness.start_session("Wait.")
        await wait_for_file(harness.project / "begun", suffix="")
        await wake(harness, session)
        await asyncio.sleep(0.5)
        before = await epoch(harness, session)
        (harness.project / "go").touch()
        await harness.ended(session)
        (call,) = await harness.calls(session)
        done = await of_one_run(harness, session)
    assert before == 1 and call.state is CallState.DONE
    assert (
        done[1:4] == ["holdfast.model.generate", "holdfast.tools.run", LOAD] and done.count("holdfast.tools.run") == 1
    )


async def test_a_stop_of_a_run_that_is_stale_closes_the_turn_after_a_load(open_harness: Open) -> None:
    async with open_harness(WRITE, DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        session = await harness.start_session("Write a.txt.")
        await harness.wait_for_asks(session)
        await overtake(harness, session)
        await harness.client.stop(session)
        ended = await harness.ended(session)
        done = await of_one_run(harness, session)
    assert isinstance(ended, TurnEnded) and ended.reason == "stopped"
    assert done[-3:] == [CLOSE, LOAD, CLOSE]


async def test_a_stop_and_an_answer_whose_signals_were_lost_come_with_the_load(open_harness: Open) -> None:
    async with open_harness(WRITE, DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        answered, stopped = [await harness.start_session("Write a.txt.") for _ in range(2)]
        (ask,) = await harness.wait_for_asks(answered)
        await harness.wait_for_asks(stopped)
        await answer_ask(harness.database, ask, AskDecision(reply=Reply.ONCE), ACTOR)
        async with session_journal(harness.database, stopped, ACTOR) as journal:
            await stops.accept(journal, StopId("stp_1"))
        for session in (answered, stopped):
            await wake(harness, session)
        ends = [await harness.ended(session) for session in (answered, stopped)]
    assert [end.reason for end in ends if isinstance(end, TurnEnded)] == ["done", "stopped"]


async def test_a_subagent_that_works_is_found_again_by_its_call(open_harness: Open, tmp_path: Path) -> None:
    held = FOUND.model_copy(update={"faults": {1: Hold(path=str(tmp_path / "gate"))}})
    scripts = delegation_scripts(delegates("child"), DONE, child=(held,))
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        session = await harness.start_session("Find it.")
        (child,) = await children(harness, session)
        await wait_for_file(tmp_path / "gate")
        await wake(harness, session)
        await loaded(harness, session, 2)
        await harness.until(session, lambda event: event.type == "call.claimed", 2)
        (tmp_path / "gate").touch()
        ended = await harness.ended(session)
        (call,) = await harness.calls(session)
        tree = await harness.client.sessions.tree(session)
    assert isinstance(ended, TurnEnded) and ended.reason == "done" and call.state is CallState.DONE
    assert tree[1:] == [child] and len(harness.model.ledger.entries) == 3


async def test_a_run_that_continues_as_new_still_loads(open_harness: Open) -> None:
    async with open_harness(WRITE, DONE) as harness, harness.running_worker():
        harness.set_limits(history_events=10)
        harness.configure(permission={"edit": "ask"})
        session = await harness.start_session("Write a.txt.")
        (ask,) = await harness.wait_for_asks(session)
        await overtake(harness, session)
        await harness.answer(ask)
        ended = await harness.ended(session)
        runs = await session_histories(harness, session)
        log = [event.type for event in await harness.events(session)]
    assert isinstance(ended, TurnEnded) and ended.reason == "done" and len(runs) > 1
    assert (log.count("call.claimed"), sum(activities(run).count(LOAD) for run in runs)) == (1, 2)


async def test_a_refresh_of_an_idle_session_costs_one_load(open_harness: Open) -> None:
    async with open_harness(DONE, DONE) as harness, harness.running_worker():
        session = await harness.start_session("Hello.")
        await harness.ended(session)
        await wake(harness, session)
        await loaded(harness, session, 2)
        await harness.client.prompt(session, "Again.")
        await harness.ended(session, 2)
        done = await of_one_run(harness, session)
    assert done.count(LOAD) == 3 and len(harness.model.ledger.entries) == 2
