"""Beats beside the work, and what a cancellation means."""

import asyncio

import pytest
from temporalio.activity import ActivityCancellationDetails
from temporalio.testing import ActivityEnvironment

from activities.heartbeat import beating, stop_requested


async def test_an_activity_beats_while_it_works_and_not_any_longer() -> None:
    environment, beats = ActivityEnvironment(), asyncio.Event()
    environment.on_heartbeat = lambda *_: beats.set()

    async def work() -> None:
        async with beating():
            await beats.wait()

    await environment.run(work)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_what_the_work_raises_comes_through() -> None:
    async def work() -> None:
        async with beating():
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await ActivityEnvironment().run(work)


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
