"""SessionRuntime: fences that rise over activities, runs and epochs, and ids that never repeat."""

import pytest
from temporalio.client import WorkflowHistory

from tests.histories.history_scenarios import DONE, LOOK, WRITE
from tests.workflows.conftest import Open
from tests.workflows.session_runs import SCHEDULED, session_histories
from worker.connect import DATA_CONVERTER
from workflows.domain.ids import SessionId
from workflows.domain.state import SessionState
from workflows.domain.wire import Request
from workflows.runtime import SessionRuntime


@pytest.fixture
def runtime() -> SessionRuntime:
    return SessionRuntime(SessionState(session=SessionId("ses_1"), epoch=100))


def places(history: WorkflowHistory) -> list[tuple[int, int]]:
    """Epoch and number of a run's activities, in the order of their scheduling."""
    scheduled = [event for event in history.events if event.event_type == SCHEDULED]
    inputs = [event.activity_task_scheduled_event_attributes.input.payloads for event in scheduled]
    requests = [DATA_CONVERTER.payload_converter.from_payloads(each, [Placed])[0] for each in inputs]
    return [(request.epoch, request.sequence) for request in requests]


class Placed(Request):
    """The common fields of requests."""


def test_every_request_gets_a_higher_number(runtime: SessionRuntime) -> None:
    assert [runtime.fence() for _ in range(2)] == [
        {"session": "ses_1", "epoch": 100, "sequence": 1, "seen": (0, "")},
        {"session": "ses_1", "epoch": 100, "sequence": 2, "seen": (0, "")},
    ]


def test_what_is_shown_is_short(runtime: SessionRuntime) -> None:
    assert runtime.summary("turn 1", "step 2") == "turn 1 step 2"
    assert len(runtime.summary("x" * 1000)) == 100


async def test_fences_rise_over_continued_runs(open_harness: Open) -> None:
    async with open_harness(LOOK, LOOK, WRITE, DONE) as harness, harness.running_worker():
        harness.set_limits(history_events=12)
        session = await harness.start_session("Go.")
        await harness.ended(session)
        runs = [places(history) for history in await session_histories(harness, session)]
    placed = [place for run in runs for place in run]
    assert len(runs) > 1 and [epoch for epoch, _ in placed] == [0] + [1] * (len(placed) - 1)  # one load
    numbers = [sequence for _, sequence in placed]  # those of quick calls are not in the history
    assert numbers == sorted(set(numbers))


async def test_a_later_epoch_has_higher_fences(open_harness: Open) -> None:
    async with open_harness(WRITE, DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        session = await harness.start_session("Go.")
        (ask,) = await harness.wait_for_asks(session)
        first = await session_histories(harness, session)
        await harness.workflow(session).terminate()
        await harness.answer(ask)
        await harness.ended(session)
        second = await session_histories(harness, session)
    load, *others = places(second[0])
    assert load == (0, 1) and max(places(first[0])) < min(others)


async def test_ids_of_one_millisecond_differ(open_harness: Open) -> None:
    reads = LOOK.model_copy(update={"tools": WRITE.tools * 6})
    async with open_harness(reads, DONE) as harness, harness.running_worker():
        harness.configure(permission={"edit": "ask"})
        session = await harness.start_session("Go.")
        asks = await harness.wait_for_asks(session, 6)
    assert len(set(asks)) == 6
