"""Signals with ids only; they start a run where none is open."""

from datetime import UTC, datetime, timedelta

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowExecutionStatus

from activities.store import bells, sessions
from activities.store.bells import Bell, BellKind
from tests.harness import Harness
from tests.worker.conftest import undelivered_prompt
from worker.bells import Bells, session_attributes, wake, workflow_id
from worker.connect import DATA_CONVERTER
from worker.settings import SummaryDetail
from workflows.domain.errors import NotFound, Unavailable
from workflows.domain.ids import SessionId, TurnId
from workflows.domain.state import SessionState, TurnLimits
from workflows.domain.wire import WakeKind

SESSION = SessionId("ses_x")


def bell(kind: BellKind, session: SessionId = SESSION) -> Bell:
    return Bell(kind=kind, id="id_1", session=session, turn=TurnId("trn_1"))


async def signals(harness: Harness, session: SessionId) -> list[str]:
    """The signals of the session's newest run."""
    history = await harness.history(session)
    signalled = [each for each in history.events if each.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED]
    return [each.workflow_execution_signaled_event_attributes.signal_name for each in signalled]


@pytest.mark.parametrize(
    ("kind", "carried"),
    [
        (BellKind.PROMPT, WakeKind.WORK),
        (BellKind.ANSWER, WakeKind.ANSWER),
        (BellKind.STOP, WakeKind.STOP),
        (BellKind.SETTLED, WakeKind.SETTLED),
        (BellKind.RETRY, WakeKind.WORK),
        (BellKind.RESUME, WakeKind.RESUME),
    ],
)
def test_a_bell_carries_ids_only(kind: BellKind, carried: WakeKind) -> None:
    assert wake(bell(kind)).model_dump() == {"kind": carried, "subject": "id_1", "turn": "trn_1"}


def test_search_attributes_fit_a_keyword() -> None:
    attributes = {pair.key.name: pair.value for pair in session_attributes(SESSION, "/d" * 300, "build")}
    assert sorted(map(len, map(str, attributes.values()))) == [5, 5, 255]


async def test_the_first_bell_starts_a_run_and_is_noted(harness: Harness) -> None:
    session = await harness.start_session("Hello.")
    handle = harness.temporal.get_workflow_handle(workflow_id(session))
    run = await handle.describe()
    assert run.status is WorkflowExecutionStatus.RUNNING
    assert await bells.undelivered(harness.database, datetime.now(UTC) + timedelta(seconds=1)) == []


async def test_more_bells_reach_the_same_run(harness: Harness) -> None:
    session = await harness.start_session("Hello.")
    for kind in BellKind:
        await harness.client.holdfast.ring(bell(kind, session))
    assert await signals(harness, session) == ["wake"] * (1 + len(BellKind))


async def test_a_completed_run_is_revived(harness: Harness) -> None:
    harness.use_settings(harness.settings.model_copy(update={"idle_seconds": 0.05}))
    session = await harness.start_session("Hello.")
    await harness.client.stop(session)
    async with harness.running_worker():
        first = harness.temporal.get_workflow_handle(workflow_id(session))
        await first.result()
        before = await first.describe()
        await harness.client.holdfast.ring(bell(BellKind.PROMPT, session))
        after = await harness.temporal.get_workflow_handle(workflow_id(session)).describe()
    assert before.status is WorkflowExecutionStatus.COMPLETED and after.run_id != before.run_id


async def test_a_new_run_is_told_every_limit_so_that_a_replay_finds_them(harness: Harness) -> None:
    own = harness.settings.model_copy(update={"idle_seconds": 7.0, "history_events": 77, "heartbeat_seconds": 1.5})
    state = Bells(harness.database, harness.temporal, own).state(SESSION)
    assert state == SessionState(session=SESSION, limits=TurnLimits(idle=7.0, events=77, heartbeat=1.5))
    assert state.limits.model_fields_set == set(TurnLimits.model_fields)


async def test_a_bell_that_the_engine_does_not_take_is_not_noted(harness: Harness) -> None:
    accepted = await undelivered_prompt(harness)
    wrong = await Client.connect(harness.endpoints.temporal_address, namespace="nowhere", data_converter=DATA_CONVERTER)
    lost = Bell(kind=BellKind.PROMPT, id=accepted.prompt, session=accepted.session)
    with pytest.raises(Unavailable, match="did not take the bell"):
        await Bells(harness.database, wrong, harness.settings).ring(lost)
    assert await bells.undelivered(harness.database, datetime.now(UTC) + timedelta(seconds=1)) == [lost]


async def test_a_bell_of_no_session_is_not_rung(harness: Harness) -> None:
    with pytest.raises(NotFound, match="'ses_x'"):
        await Bells(harness.database, harness.temporal, harness.settings).ring(bell(BellKind.PROMPT))


async def test_the_stock_ui_names_the_session_where_it_may_and_says_where_the_rest_is(harness: Harness) -> None:
    token = "sk-ant-api03-" + "x" * 90
    session = (await harness.client.start(str(harness.project), f"Use {token} " + "\U0001f600" * 80)).session
    told = []
    for detail in SummaryDetail:
        bells = Bells(harness.database, harness.temporal, harness.settings.model_copy(update={"summaries": detail}))
        told.append(bells.summary(await sessions.origin(harness.database, session)))
    run = await harness.temporal.get_workflow_handle(workflow_id(session)).describe()

    assert told[0] == "build" and told[1].startswith("build: Use ") and len(told[1].encode()) <= 200
    assert token not in told[1]
    assert await run.static_summary() == "build" and f"holdfast log {session}" in (await run.static_details() or "")
