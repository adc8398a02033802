"""Stops: what a cancellation means, and how a stop's row ends what runs for its turn."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from temporalio.activity import ActivityCancellationDetails
from temporalio.testing import ActivityEnvironment
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from activities.failpoints import ARRIVALS
from activities.stopping import StopWatch, stop_requested
from tests.activities.conftest import Arm
from tests.activities.scene import Scene, scene_in
from workflows.domain.ids import MessageId, PartId
from workflows.domain.wire import STOPPED, CloseReason, CloseRequest, GenerateRequest, Ran, RanState, RunRequest, Step

REFUSED = Step(finish=STOPPED)


class Working(ActivityInboundInterceptor):
    """An activity that works until it is cancelled; it notes what that meant, and takes its time to end."""

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

    def __init__(self, watch: StopWatch, request: Any) -> None:
        self.environment, self.work = ActivityEnvironment(), Working()
        given = ExecuteActivityInput(fn=lambda: None, args=(request,), executor=None, headers={})
        execute = watch.intercept_activity(self.work).execute_activity
        self.result = asyncio.ensure_future(self.environment.run(execute, given))


async def started(watch: StopWatch, request: Any) -> Started:
    running = Started(watch, request)
    await running.work.began.wait()
    return running


@pytest.fixture
async def watch(scene: Scene) -> StopWatch:
    return StopWatch(scene.database)


def generating(scene: Scene) -> GenerateRequest:
    return GenerateRequest(**scene.place(), turn=scene.turn, step=1, message=MessageId("msg_1"))


def calling(scene: Scene) -> RunRequest:
    return RunRequest(**scene.place(), turn=scene.turn, call=PartId("prt_1"))


@pytest.mark.parametrize("ended", [False, True])
async def test_a_stops_row_and_the_end_of_the_session_end_what_runs_for_the_turn(
    scene: Scene, watch: StopWatch, ended: bool
) -> None:
    await scene.open_turn()
    answer, call = await started(watch, generating(scene)), await started(watch, calling(scene))
    await watch.look()
    assert (answer.work.meant, call.work.meant) == ([], [])
    await (scene.end() if ended else scene.stop())
    for _ in range(2):
        await watch.look()
        await asyncio.sleep(0)
    assert await answer.result == REFUSED
    assert await call.result == Ran(state=RanState.SETTLED, stopped=True)
    assert (answer.work.meant, call.work.meant) == ([True], [True])


async def test_a_worker_asks_once_for_all_that_runs_in_it_and_never_for_nothing(
    scene: Scene, watch: StopWatch, tmp_path: Path, arm: Arm
) -> None:
    (tmp_path / "other").mkdir()
    other = await scene_in(scene.database, tmp_path / "other")
    for each in (scene, other):
        await each.open_turn()
    arm("external.sql=sleep:0")
    await watch.look()
    assert not (tmp_path / ARRIVALS).exists()
    running = [
        await started(watch, ask(each)) for each in (scene, other) for ask in (generating, calling) for _ in "abc"
    ]
    await watch.look()
    assert len((tmp_path / ARRIVALS).read_text().splitlines()) == 1
    arm("")
    await scene.stop()
    await other.stop()
    await watch.look()
    await asyncio.gather(*(each.result for each in running))


async def test_other_turns_go_on(scene: Scene, watch: StopWatch) -> None:
    await scene.open_turn()
    await scene.stop()
    await scene.close(CloseReason.STOPPED)
    await scene.open_turn()
    running = await started(watch, generating(scene))
    await watch.look()
    await asyncio.sleep(0)
    assert not running.result.done() and running.work.meant == []
    running.environment.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running.result


async def test_what_closes_a_turn_is_not_ended_by_its_stop(scene: Scene, watch: StopWatch) -> None:
    await scene.open_turn()
    await scene.stop()
    running = await started(watch, CloseRequest(**scene.place(), turn=scene.turn, reason=CloseReason.STOPPED))
    await watch.look()
    await asyncio.sleep(0)
    assert not running.result.done() and running.work.meant == []
    running.environment.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running.result


@pytest.mark.parametrize("engine_first", [False, True])
async def test_a_stop_that_comes_in_both_ways_is_the_engines(
    scene: Scene, watch: StopWatch, engine_first: bool
) -> None:
    await scene.open_turn()
    running = await started(watch, generating(scene))
    await scene.stop()
    if engine_first:
        running.environment.cancel(ActivityCancellationDetails(cancel_requested=True))
    await watch.look()
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
