"""Stops: the meaning of a cancellation, and how a stop's row ends its turn's work."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from temporalio.activity import ActivityCancellationDetails
from temporalio.testing import ActivityEnvironment
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from activities.failpoints import ARRIVALS
from activities.stop_interceptor import StopInterceptor, stop_requested
from tests.activities.conftest import Arm
from tests.activities.rig import ActivityRig, open_rig
from workflows.domain.ids import GenerationId, PartId
from workflows.domain.open_call import CallResult, CallResultState
from workflows.domain.wire import (
    FINISH_STOPPED,
    CloseReason,
    CloseRequest,
    GenerateRequest,
    RunRequest,
    StepResult,
)

REFUSED = StepResult(finish=FINISH_STOPPED)


class Working(ActivityInboundInterceptor):
    """An activity that works until cancelled; it records the meaning, and ends slowly."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.meant: list[bool] = []

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        self.began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.meant.append(stop_requested())
            await asyncio.sleep(0.05)
            raise


class Started:
    """An activity in the hands of a watch."""

    def __init__(self, watch: StopInterceptor, request: Any) -> None:
        self.environment, self.work = ActivityEnvironment(), Working()
        given = ExecuteActivityInput(fn=lambda: None, args=(request,), executor=None, headers={})
        execute = watch.intercept_activity(self.work).execute_activity
        self.result = asyncio.ensure_future(self.environment.run(execute, given))


async def started(watch: StopInterceptor, request: Any) -> Started:
    running = Started(watch, request)
    await running.work.began.wait()
    return running


@pytest.fixture
async def watch(rig: ActivityRig) -> StopInterceptor:
    return StopInterceptor(rig.database)


def generating(rig: ActivityRig) -> GenerateRequest:
    return GenerateRequest(**rig.request_fields(), turn=rig.turn, step=1, generation=GenerationId("gen_1"))


def calling(rig: ActivityRig) -> RunRequest:
    return RunRequest(**rig.request_fields(), turn=rig.turn, call=PartId("prt_1"))


@pytest.mark.parametrize("ended", [False, True])
async def test_a_stops_row_and_the_end_of_the_session_end_the_turns_activities(
    rig: ActivityRig, watch: StopInterceptor, ended: bool
) -> None:
    await rig.open_turn()
    answer, call = await started(watch, generating(rig)), await started(watch, calling(rig))
    await watch.cancel_stopped()
    assert (answer.work.meant, call.work.meant) == ([], [])
    await (rig.end() if ended else rig.stop())
    for _ in range(2):
        await watch.cancel_stopped()
        await asyncio.sleep(0)
    assert await answer.result == REFUSED
    assert await call.result == CallResult(state=CallResultState.SETTLED, stopped=True)
    assert (answer.work.meant, call.work.meant) == ([True], [True])


async def test_a_worker_asks_once_for_all_that_runs_in_it_and_never_for_nothing(
    rig: ActivityRig, watch: StopInterceptor, tmp_path: Path, arm: Arm
) -> None:
    (tmp_path / "other").mkdir()
    other = await open_rig(rig.database, tmp_path / "other")
    for each in (rig, other):
        await each.open_turn()
    arm("external.sql=sleep:0")
    await watch.cancel_stopped()
    assert not (tmp_path / ARRIVALS).exists()
    running = [await started(watch, ask(each)) for each in (rig, other) for ask in (generating, calling) for _ in "abc"]
    await watch.cancel_stopped()
    assert len((tmp_path / ARRIVALS).read_text().splitlines()) == 1
    arm("")
    await rig.stop()
    await other.stop()
    await watch.cancel_stopped()
    await asyncio.gather(*(each.result for each in running))


async def test_other_turns_go_on(rig: ActivityRig, watch: StopInterceptor) -> None:
    await rig.open_turn()
    await rig.stop()
    await rig.close(CloseReason.STOPPED)
    await rig.open_turn()
    running = await started(watch, generating(rig))
    await watch.cancel_stopped()
    await asyncio.sleep(0)
    assert not running.result.done() and running.work.meant == []
    running.environment.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running.result


async def test_closing_a_turn_is_not_ended_by_its_stop(rig: ActivityRig, watch: StopInterceptor) -> None:
    await rig.open_turn()
    await rig.stop()
    running = await started(watch, CloseRequest(**rig.request_fields(), turn=rig.turn, reason=CloseReason.STOPPED))
    await watch.cancel_stopped()
    await asyncio.sleep(0)
    assert not running.result.done() and running.work.meant == []
    running.environment.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running.result


@pytest.mark.parametrize("engine_first", [False, True])
async def test_a_stop_that_comes_in_both_ways_is_the_engines(
    rig: ActivityRig, watch: StopInterceptor, engine_first: bool
) -> None:
    await rig.open_turn()
    running = await started(watch, generating(rig))
    await rig.stop()
    if engine_first:
        running.environment.cancel(ActivityCancellationDetails(cancel_requested=True))
    await watch.cancel_stopped()
    if not engine_first:
        running.environment.cancel(ActivityCancellationDetails(cancel_requested=True))
    with pytest.raises(asyncio.CancelledError):
        await running.result
    assert running.work.meant == [True]


@pytest.mark.parametrize(
    ("details", "stopped"),
    [
        (ActivityCancellationDetails(cancel_requested=True), True),
        (ActivityCancellationDetails(cancel_requested=True, not_found=True), False),
        (ActivityCancellationDetails(worker_shutdown=True), False),
        (ActivityCancellationDetails(timed_out=True), False),
    ],
)
async def test_only_a_stop_is_a_stop(details: ActivityCancellationDetails, stopped: bool) -> None:
    environment, started = ActivityEnvironment(), asyncio.Event()
    found: list[bool] = []

    async def work() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            found.append(stop_requested())

    running = asyncio.ensure_future(environment.run(work))
    await started.wait()
    environment.cancel(details)
    await running
    assert found == [stopped]


async def test_without_a_cancellation_there_is_no_stop() -> None:
    async def work() -> bool:
        return stop_requested()

    assert not await ActivityEnvironment().run(work)
