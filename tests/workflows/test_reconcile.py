"""Reconcile: signals are hints. Whatever becomes of them and of its runs, a session ends as an undisturbed one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from temporalio import workflow
from temporalio.api.enums.v1 import EventType
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from activities.store import suspensions
from activities.store.journal import session_journal
from tests.harness import ACTOR, Harness, wait_for_file
from tests.histories.history_scenarios import DONE, WRITE
from tests.polling import WAIT_TIMEOUT
from tests.workflows.conftest import Open
from tests.workflows.session_runs import reset
from worker.scripted.script import DEFAULT_SCRIPT, Script, ScriptedAnswer, ScriptedCall
from workflows.domain.events.sessions import SessionRefreshed, SessionRestarted
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import WORKFLOW_TYPE, AskId, SessionId
from workflows.domain.messages import CallState
from workflows.domain.state import SessionState
from workflows.domain.suspension import SuspendCause, SuspendReason
from workflows.domain.wake_signal import WAKE, Wake, WakeKind

PERIOD = 1.0
TASK = ScriptedAnswer(
    tools=(
        ScriptedCall(
            name="task",
            arguments={"description": "look", "prompt": "[[script:child]] Where?", "subagent_type": "explore"},
        ),
    )
)


@asynccontextmanager
async def losing(harness: Harness, *kinds: WakeKind) -> AsyncIterator[None]:
    """Signals of these kinds are lost, as after their acknowledgement: no row of the outbox is left."""
    lost = ", ".join(f"'{kind}'" for kind in kinds)
    await harness.database.rows(
        f"""CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RETURN CASE WHEN NEW.kind IN ({lost}) THEN NULL ELSE NEW END; END $$""".encode()
    )
    await harness.database.rows(
        b"CREATE TRIGGER lose BEFORE INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION holdfast.lose()"
    )
    try:
        yield
    finally:
        await harness.database.rows(b"DROP TRIGGER lose ON outbox")
        await harness.database.rows(b"DROP FUNCTION lose")


@asynccontextmanager
async def worker(harness: Harness) -> AsyncIterator[None]:
    """A worker that compares sessions with their runs after a second."""
    async with harness.running_worker(with_sweeper=True, reconcile_seconds=PERIOD):
        yield


async def asked(harness: Harness) -> tuple[SessionId, AskId]:
    harness.configure(permission={"edit": "ask"})
    session = await harness.start_session("Write a.txt.")
    (ask,) = await harness.wait_for_asks(session)
    return session, ask


async def repaired(harness: Harness, session: SessionId) -> bool:
    return any(isinstance(event, SessionRefreshed | SessionRestarted) for event in await harness.events(session))


async def reason(harness: Harness, session: SessionId, turns: int = 1) -> str:
    ended = await harness.ended(session, turns)
    assert isinstance(ended, TurnEnded)
    return ended.reason


async def test_a_lost_answer_is_acted_on(open_harness: Open) -> None:
    async with open_harness(WRITE, DONE) as harness, worker(harness):
        session, ask = await asked(harness)
        async with losing(harness, WakeKind.ANSWER):
            await harness.answer(ask)
        assert await reason(harness, session) == "done" and await repaired(harness, session)
        (call,) = await harness.calls(session)
        log = [event.type for event in await harness.events(session)]
    assert call.state is CallState.DONE and (harness.project / "a.txt").read_text() == "a"
    assert (log.count("call.claimed"), log.count("ask.raised"), len(harness.model.ledger.entries)) == (1, 1, 2)


async def test_a_lost_stop_is_applied(open_harness: Open) -> None:
    async with open_harness(WRITE, DONE) as harness, worker(harness):
        session, _ = await asked(harness)
        async with losing(harness, WakeKind.STOP):
            await harness.client.stop(session)
        assert await reason(harness, session) == "stopped" and await repaired(harness, session)
        assert await harness.client.inbox.asks(session=session) == []


async def test_a_lost_end_is_applied(open_harness: Open) -> None:
    async with open_harness(WRITE, DONE) as harness, worker(harness):
        session, _ = await asked(harness)
        async with losing(harness, WakeKind.STOP, WakeKind.RESUME):
            await harness.client.end(session)
        assert await reason(harness, session) in ("stopped", "ended") and await repaired(harness, session)


@pytest.mark.parametrize("asleep", [False, True], ids=["awake", "asleep"])
async def test_a_lost_prompt_is_taken(open_harness: Open, asleep: bool) -> None:
    async with open_harness(DONE, DONE) as harness, worker(harness):
        harness.set_limits(idle_seconds=0.2 if asleep else 300)
        session = await harness.start_session("Hello?")
        await harness.ended(session)
        async with losing(harness, WakeKind.WORK):
            await harness.client.prompt(session, "And now?")
        assert await reason(harness, session, 2) == "done" and await repaired(harness, session)
    assert len(harness.model.ledger.entries) == 2


async def test_a_clock_that_was_ahead_delays_no_prompt_and_no_repair(open_harness: Open) -> None:
    async with open_harness(DONE, DONE, DONE) as harness, worker(harness):
        session = await harness.start_session("Hello?")
        await harness.ended(session)
        await put_ahead(harness)
        await harness.client.prompt(session, "And now?")
        assert await reason(harness, session, 2) == "done" and not await repaired(harness, session)
        await put_ahead(harness)
        async with losing(harness, WakeKind.WORK):
            await harness.client.prompt(session, "And then?")
        assert await reason(harness, session, 3) == "done" and await repaired(harness, session)


async def put_ahead(harness: Harness) -> None:
    """Leave what a database leaves whose clock was an hour ahead until now."""
    times = {"session_head": ("updated_at", "moved_at"), "work": ("accepted_at",), "turn": ("opened_at", "ended_at")}
    for table, columns in times.items():
        for column in columns:
            query = f"UPDATE {table} SET {column} = {column} + interval '1 hour'"
            await harness.database.rows(query.encode())


async def test_a_lost_end_of_a_subagent_is_noticed(open_harness: Open) -> None:
    scripts = {DEFAULT_SCRIPT: Script(answers=(TASK, DONE)), "child": Script(answers=(ScriptedAnswer(text="Here."),))}
    async with open_harness(scripts=scripts) as harness, losing(harness, WakeKind.SETTLED), worker(harness):
        session = await harness.start_session("Look.")
        assert await reason(harness, session) == "done" and await repaired(harness, session)
        (call,) = await harness.calls(session)
    assert call.state is CallState.DONE and call.outcome is not None and "Here." in call.outcome.output


async def test_a_reset_while_an_ask_waits_asks_once(open_harness: Open) -> None:
    async with open_harness(WRITE, DONE) as harness, worker(harness):
        session, ask = await asked(harness)
        await reset(harness, session, "holdfast.asks.open")
        await harness.answer(ask)
        assert await reason(harness, session) == "done"
        log = [event.type for event in await harness.events(session)]
    assert (log.count("ask.raised"), log.count("call.claimed")) == (1, 1)


async def test_a_reset_while_a_command_runs_follows_it_to_its_end(open_harness: Open) -> None:
    command = "echo ran >> runs; touch begun; until [ -e go ]; do sleep 0.05; done"
    slow = ScriptedCall(name="bash", arguments={"command": command})
    async with open_harness(ScriptedAnswer(tools=(slow,)), DONE) as harness, worker(harness):
        harness.configure(permission={"*": "allow"})
        session = await harness.start_session("Wait.")
        await wait_for_file(harness.project / "begun", suffix="")
        await reset(harness, session, "holdfast.model.generate")
        await harness.until(session, lambda event: event.type == "call.claimed", 2)
        (harness.project / "go").touch()
        assert await reason(harness, session) == "done"
        (call,) = await harness.calls(session)
    assert call.state is CallState.DONE and (harness.project / "runs").read_text() == "ran\n"
    assert len(harness.model.ledger.entries) == 2


async def test_a_reset_of_a_turn_that_is_over_repeats_nothing_of_it(open_harness: Open) -> None:
    async with open_harness(WRITE, DONE, DONE) as harness, worker(harness):
        harness.configure(permission={"*": "allow"})
        session = await harness.start_session("Write a.txt.")
        await harness.ended(session)
        before = [event.type for event in await harness.events(session)]
        (harness.project / "a.txt").unlink()
        await reset(harness, session, "holdfast.model.generate")
        await harness.client.prompt(session, "And now?")
        assert await reason(harness, session, 2) == "done"
        log = [event.type for event in await harness.events(session)]
    assert log[: len(before)] == before and log.count("call.claimed") == 1
    assert not (harness.project / "a.txt").exists() and len(harness.model.ledger.entries) == 3


async def test_a_run_that_was_terminated_at_work_is_followed_by_another(open_harness: Open) -> None:
    async with open_harness(WRITE, DONE) as harness:
        harness.configure(permission={"edit": "ask"})
        async with worker(harness):
            session, ask = await asked(harness)
            async with losing(harness, WakeKind.ANSWER):
                await harness.workflow(session).terminate()
                await harness.answer(ask)
            assert await reason(harness, session) == "done" and await repaired(harness, session)
    assert len(harness.model.ledger.entries) == 2


@workflow.defn(name=WORKFLOW_TYPE)
class OtherWorkflow:
    """A session's workflow of another release: today's cannot replay it."""

    @workflow.run
    async def run(self, state: SessionState) -> None:
        await workflow.sleep(3600)

    @workflow.signal(name=WAKE)
    def wake(self, wake: Wake) -> None:
        """Does nothing."""


async def test_a_run_that_cannot_be_replayed_is_restarted(open_harness: Open) -> None:
    async with open_harness(DONE) as harness:
        other = Worker(
            harness.temporal,
            task_queue=harness.settings.task_queue,
            workflows=[OtherWorkflow],
            workflow_runner=UnsandboxedWorkflowRunner(),
        )
        async with other:
            session = await harness.start_session("Hello?")
            await started_timer(harness, session)
        async with worker(harness):
            assert await reason(harness, session) == "done"
            restarts = [event for event in await harness.events(session) if isinstance(event, SessionRestarted)]
            assert [event.restarts for event in restarts] == [1]
            assert (await harness.client.sessions.get(session)).suspension is None
    assert len(harness.model.ledger.entries) == 1


async def started_timer(harness: Harness, session: SessionId) -> None:
    async with asyncio.timeout(WAIT_TIMEOUT):
        while all(
            event.event_type != EventType.EVENT_TYPE_TIMER_STARTED for event in (await harness.history(session)).events
        ):
            await asyncio.sleep(0.05)


@asynccontextmanager
async def copied(harness: Harness, session: SessionId, number: int) -> AsyncIterator[None]:
    """Copies of a session that asks, which wait by their rows."""
    columns = {
        "session": ("id",),
        "session_head": ("session",),
        "turn": ("id", "session"),
        "generation": ("id", "session", "turn"),
        "message": ("id", "session", "generation", "turn"),
        "call": ("id", "session", "turn", "message"),
        "ask": ("id", "session", "turn", "call"),
    }
    async with harness.database.transaction() as connection:  # a sweep sees all of it, or nothing
        for table, renamed in columns.items():
            fields = ", ".join(f"'{column}', o.{column} || '_' || n" for column in renamed)
            of = renamed[min(1, len(renamed) - 1)]
            query = f"""INSERT INTO {table} SELECT (jsonb_populate_record(o, jsonb_build_object({fields}))).*
            FROM {table} o, generate_series(1, %(number)s) AS n WHERE o.{of} = %(session)s"""
            await connection.execute(query.encode(), {"number": number, "session": session})
    yield
    async with harness.database.transaction() as connection:
        for table, renamed in reversed(columns.items()):  # no run of theirs was ever begun, as the harness will ask
            of = renamed[min(1, len(renamed) - 1)]
            await connection.execute(f"DELETE FROM {table} WHERE {of} LIKE 'ses_%\\_%'".encode())


async def test_sessions_that_wait_or_are_suspended_are_left_alone(open_harness: Open) -> None:
    async with open_harness(WRITE, DONE) as harness, worker(harness):
        waiting, _ = await asked(harness)
        async with losing(harness, WakeKind.WORK):
            await harness.client.prompt(waiting, "And then?")
        suspended, ask = await asked(harness)
        async with session_journal(harness.database, suspended, ACTOR) as journal:
            await suspensions.suspend(journal, SuspendCause(reason=SuspendReason.KEPT))
        async with losing(harness, WakeKind.ANSWER):
            await harness.answer(ask)
        before = [await harness.events(session) for session in (waiting, suspended)]
        async with copied(harness, waiting, 1000):
            await asyncio.sleep(10 * PERIOD)
            assert not await harness.database.rows(b"SELECT FROM refresh")
        assert [await harness.events(session) for session in (waiting, suspended)] == before
