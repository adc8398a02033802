"""Sending signals: they carry ids only, start a run where none is open, and stay until Temporal acknowledges them."""

import asyncio
from typing import Any

import pytest
from temporalio import workflow
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from activities.store import outbox, sessions
from activities.store.journal import session_journal
from tests.harness import ACTOR, Harness, signals
from tests.worker.conftest import undelivered_prompt
from worker.connect import DATA_CONVERTER
from worker.outbox import SignalSender, session_attributes, workflow_id
from worker.settings import SummaryDetail
from workflows.domain.behaviour import NEWEST
from workflows.domain.errors import Unavailable
from workflows.domain.hash_chain import LogPosition
from workflows.domain.ids import WORKFLOW_TYPE, SessionId, TurnId
from workflows.domain.prompt import Prompt
from workflows.domain.state import SessionState, TurnLimits
from workflows.domain.wake_signal import Wake, WakeKind

SESSION = SessionId("ses_x")


@pytest.fixture
def sender(harness: Harness) -> SignalSender:
    return SignalSender(harness.database, harness.temporal, harness.settings)


async def undelivered(harness: Harness, session: SessionId) -> list[WakeKind]:
    rows = await harness.database.rows(b"SELECT kind FROM outbox WHERE session = %(id)s ORDER BY id", id=session)
    return [WakeKind(row["kind"]) for row in rows]


async def received(harness: Harness, session: SessionId) -> list[WakeKind]:
    """The signals that the session's newest run has got."""
    return [signal.kind for signal in signals(await harness.history(session))]


def test_search_attributes_fit_a_keyword() -> None:
    attributes = {pair.key.name: pair.value for pair in session_attributes(SESSION, "/d" * 300, "build")}
    assert sorted(map(len, map(str, attributes.values()))) == [5, 5, 255]


async def test_the_first_signal_starts_a_run_and_is_deleted_when_acknowledged(harness: Harness) -> None:
    accepted = await harness.client.start(str(harness.project), Prompt.of_text("Hello.", model="scripted/model"))
    run = await harness.workflow(accepted.session).describe()
    assert run.status is WorkflowExecutionStatus.RUNNING and accepted.delivered
    assert signals(await harness.history(accepted.session)) == [Wake(kind=WakeKind.WORK, subject=accepted.prompt)]
    assert await undelivered(harness, accepted.session) == []


async def test_signals_of_every_kind_reach_the_same_run(harness: Harness) -> None:
    session = await harness.start_session("Hello.")
    for kind in WakeKind:
        await harness.signal(session, kind, "id_1", TurnId("trn_1"))
    _, *others = signals(await harness.history(session))
    assert others == [Wake(kind=kind, subject="id_1", turn=TurnId("trn_1")) for kind in WakeKind]


async def test_all_signals_of_a_session_are_sent_in_order(harness: Harness, sender: SignalSender) -> None:
    session = (await undelivered_prompt(harness)).session
    async with session_journal(harness.database, session, ACTOR) as journal:
        journal.notify(WakeKind.REFRESH, "1")
    await sender.send(session)
    assert await received(harness, session) == [WakeKind.WORK, WakeKind.REFRESH]
    assert await undelivered(harness, session) == []


async def test_many_senders_in_one_process_send_each_signal_once(harness: Harness, sender: SignalSender) -> None:
    session = (await undelivered_prompt(harness)).session
    await asyncio.gather(*(sender.send(session) for _ in range(20)))
    assert await received(harness, session) == [WakeKind.WORK]


async def test_a_completed_run_is_revived(harness: Harness) -> None:
    harness.use_settings(harness.settings.model_copy(update={"idle_seconds": 0.05}))
    session = await harness.start_session("Hello.")
    await harness.client.stop(session)
    async with harness.running_worker():
        first = harness.workflow(session)
        await first.result()
        before = await first.describe()
        await harness.signal(session, WakeKind.WORK)
        after = await harness.workflow(session).describe()
    assert before.status is WorkflowExecutionStatus.COMPLETED and after.run_id != before.run_id


@workflow.defn(name=WORKFLOW_TYPE)
class EndedWorkflow:
    """A run under a session's id that ends with this result."""

    @workflow.run
    async def run(self, result: Any) -> Any:
        return result


@pytest.mark.parametrize(
    ("result", "seen"), [([7, "0a1b2c3d"], LogPosition(7, "0a1b2c3d")), (None, LogPosition()), ("else", LogPosition())]
)
async def test_a_new_run_knows_what_the_last_one_has_seen(
    harness: Harness, sender: SignalSender, result: object, seen: LogPosition
) -> None:
    session, queue = (await undelivered_prompt(harness)).session, harness.settings.task_queue
    runner = UnsandboxedWorkflowRunner()
    async with Worker(harness.temporal, task_queue=queue, workflows=[EndedWorkflow], workflow_runner=runner):
        await harness.temporal.execute_workflow(WORKFLOW_TYPE, result, id=workflow_id(session), task_queue=queue)
    await sender.send(session)
    (started, *_) = (await harness.history(session)).events
    payloads = started.workflow_execution_started_event_attributes.input.payloads
    assert (await DATA_CONVERTER.decode(payloads, [SessionState]))[0].seen == seen
    assert await received(harness, session) == [WakeKind.WORK]


async def test_a_new_run_is_told_every_limit_so_that_a_replay_finds_them(harness: Harness) -> None:
    own = harness.settings.model_copy(update={"idle_seconds": 7.0, "history_events": 77, "heartbeat_seconds": 1.5})
    state = SignalSender(harness.database, harness.temporal, own).state(SESSION, LogPosition(3, "0a"))
    limits = TurnLimits(idle=7.0, events=77, heartbeat=1.5)
    assert state == SessionState(session=SESSION, behaviour=NEWEST, limits=limits, seen=LogPosition(3, "0a"))
    assert state.limits.model_fields_set == set(TurnLimits.model_fields)


async def test_a_signal_that_temporal_does_not_take_stays(harness: Harness) -> None:
    session = (await undelivered_prompt(harness)).session
    wrong = await Client.connect(harness.endpoints.temporal_address, namespace="nowhere", data_converter=DATA_CONVERTER)
    with pytest.raises(Unavailable, match="did not take the signal"):
        await SignalSender(harness.database, wrong, harness.settings).send(session)
    assert await undelivered(harness, session) == [WakeKind.WORK]


async def test_a_signal_whose_acknowledgement_was_not_noted_is_sent_again(
    harness: Harness, sender: SignalSender
) -> None:
    session = (await undelivered_prompt(harness)).session
    (signal,) = await outbox.pending(harness.database, session)
    await sender.signal(session, await sessions.origin(harness.database, session), Wake(kind=signal.kind))
    await sender.send(session)  # after the crash of who sent it
    assert await received(harness, session) == [WakeKind.WORK, WakeKind.WORK]
    assert await undelivered(harness, session) == []


async def test_a_moot_signal_is_dropped_and_starts_no_run(harness: Harness, sender: SignalSender) -> None:
    session = (await undelivered_prompt(harness)).session
    await harness.database.rows(b"UPDATE work SET state = 'withdrawn'")
    await sender.send(session)
    assert await undelivered(harness, session) == []
    assert [run async for run in harness.temporal.list_workflows(f"WorkflowId = '{workflow_id(session)}'")] == []


async def test_a_session_without_signals_is_not_signalled(harness: Harness, sender: SignalSender) -> None:
    session = await harness.start_session("Hello.")
    for each in (session, SESSION):
        await sender.send(each)
    assert await received(harness, session) == [WakeKind.WORK]


async def test_the_stock_ui_names_the_session_where_it_may_and_says_where_the_rest_is(harness: Harness) -> None:
    token = "sk-ant-api03-" + "x" * 90
    session = (await harness.client.start(str(harness.project), f"Use {token} " + "\U0001f600" * 80)).session
    summaries = []
    for detail in SummaryDetail:
        own = harness.settings.model_copy(update={"summaries": detail})
        sender = SignalSender(harness.database, harness.temporal, own)
        summaries.append(sender.summary(await sessions.origin(harness.database, session)))
    run = await harness.workflow(session).describe()

    assert summaries[0] == "build" and summaries[1].startswith("build: Use ") and len(summaries[1].encode()) <= 200
    assert token not in summaries[1]
    assert await run.static_summary() == "build" and f"holdfast log {session}" in (await run.static_details() or "")
