"""A known fact is written again while the database is away, for as long as anybody waits for it."""

import asyncio
import logging

import pytest

from activities.store.persistence import persistently, to_its_end, within_grace
from tests.patience import appears
from workflows.domain.errors import StaleFence, Unavailable


class Flapping:
    """A write that fails a few times before it succeeds."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.tries = 0

    async def __call__(self) -> str:
        self.tries += 1
        if self.failures:
            raise self.failures.pop(0)
        return "written"

    async def persistently(self) -> None:
        await persistently(self)


async def cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_outage_is_waited_out_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "holdfast.store")
    write = Flapping(Unavailable("gone"), Unavailable("gone"), Unavailable("still gone"))
    assert await persistently(write) == "written" and write.tries == 4
    assert caplog.messages == ["waiting for the database: gone", "waiting for the database: still gone"]


async def test_any_other_failure_is_final() -> None:
    write = Flapping(StaleFence("overtaken"))
    with pytest.raises(StaleFence, match="overtaken"):
        await persistently(write)
    assert write.tries == 1


async def test_the_end_of_the_attempt_ends_it() -> None:
    write = Flapping(*[Unavailable("gone")] * 100)
    writing = asyncio.create_task(write.persistently())
    await appears(lambda: write.tries == 2)
    await cancelled(writing)
    assert write.tries == 2


async def test_a_known_outcome_is_written_although_nobody_waits_any_more() -> None:
    write = Flapping(Unavailable("gone"), Unavailable("gone"))
    settling = asyncio.create_task(to_its_end(write.persistently()))
    await appears(lambda: write.tries == 1)
    await cancelled(settling)
    assert write.tries == 3


async def test_what_a_stopped_attempt_finds_out_at_its_end_is_raised() -> None:
    with pytest.raises(StaleFence, match="overtaken"):
        await within_grace(Flapping(StaleFence("overtaken")).persistently())
