"""The engine: fences that are ordered over activities, runs and chains, and ids that never repeat."""

import pytest
from temporalio.client import WorkflowHistory

from tests.histories.scenarios import DONE, LOOK, WRITE
from tests.workflows.conftest import Open
from tests.workflows.runs import SCHEDULED, chain
from worker.bells import workflow_id
from worker.connect import DATA_CONVERTER
from workflows.domain.ids import SessionId
from workflows.domain.state import SessionState
from workflows.domain.wire import Fence, Request
from workflows.engine import Engine


@pytest.fixture
def engine() -> Engine:
    return Engine(SessionState(session=SessionId("ses_1"), chain=100))


def fences(history: WorkflowHistory) -> list[Fence]:
    """The fences of a run's activities, in the order of their scheduling."""
    scheduled = [event for event in history.events if event.event_type == SCHEDULED]
    inputs = [event.activity_task_scheduled_event_attributes.input.payloads for event in scheduled]
    requests = [DATA_CONVERTER.payload_converter.from_payloads(each, [Placed])[0] for each in inputs]
    return [request.fence(1) for request in requests]


class Placed(Request):
    """The fields that every request has."""


def test_every_request_gets_a_higher_number(engine: Engine) -> None:
    assert [engine.fence() for _ in range(2)] == [
        {"session": "ses_1", "chain": 100, "schedule": 1},
        {"session": "ses_1", "chain": 100, "schedule": 2},
    ]


def test_what_is_shown_is_short(engine: Engine) -> None:
    assert engine.summary("turn 1", "step 2") == "turn 1 step 2"
    assert len(engine.summary("x" * 1000)) == 100


async def test_a_chain_keeps_its_fences_over_its_runs(open_house: Open) -> None:
    async with open_house(LOOK, LOOK, WRITE, DONE) as house, house.working():
        house.hurry(history_events=12)
        session = await house.say("Go.")
        await house.ended(session)
        runs = [fences(history) for history in await chain(house, session)]
    placed = [fence for run in runs for fence in run]
    assert len(runs) > 1 and len({fence.chain for fence in placed}) == 1
    numbers = [fence.schedule for fence in placed]  # those of quick calls are not in the history
    assert numbers == sorted(set(numbers))


async def test_a_later_chain_has_higher_fences(open_house: Open) -> None:
    async with open_house(WRITE, DONE) as house, house.working():
        house.configure(permission={"edit": "ask"})
        session = await house.say("Go.")
        (ask,) = await house.asked(session)
        first = await chain(house, session)
        await house.temporal.get_workflow_handle(workflow_id(session)).terminate()
        await house.answer(ask)
        await house.ended(session)
        second = await chain(house, session)
    assert max(fences(first[0])) < min(fences(second[0])) and fences(second[0])[0].schedule == 1


async def test_ids_of_one_millisecond_differ(open_house: Open) -> None:
    reads = LOOK.model_copy(update={"tools": WRITE.tools * 6})
    async with open_house(reads, DONE) as house, house.working():
        house.configure(permission={"edit": "ask"})
        session = await house.say("Go.")
        asks = await house.asked(session, 6)
    assert len(set(asks)) == 6
