"""Heartbeats during the work."""

import asyncio

import pytest
from temporalio.testing import ActivityEnvironment

from activities.heartbeat import heartbeats


async def test_an_activity_beats_while_it_works_and_not_any_longer() -> None:
    environment, beats = ActivityEnvironment(), asyncio.Event()
    environment.on_heartbeat = lambda *_: beats.set()

    async def work() -> None:
        async with heartbeats():
            await beats.wait()

    await environment.run(work)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_an_error_of_the_block_is_raised() -> None:
    async def work() -> None:
        async with heartbeats():
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await ActivityEnvironment().run(work)
