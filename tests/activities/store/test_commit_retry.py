"""A known fact is written again while the database is away and a caller waits for it."""

import asyncio
import logging

import pytest

from activities.store.commit_retry import finish_despite_cancel, finish_within_grace, retry_while_unavailable
from tests.polling import wait_until
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
        await retry_while_unavailable(self)


async def cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_outage_is_waited_out_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "holdfast.store")
    write = Flapping(Unavailable("gone"), Unavailable("gone"), Unavailable("still gone"))
    assert await retry_while_unavailable(write) == "written" and write.tries == 4
    assert caplog.messages == ["waiting for the database: gone", "waiting for the database: still gone"]


async def test_any_other_failure_is_final() -> None:
    write = Flapping(StaleFence("overtaken"))
    with pytest.raises(StaleFence, match="overtaken"):
        await retry_while_unavailable(write)
    assert write.tries == 1


async def test_cancelling_the_attempt_ends_the_retries() -> None:
    write = Flapping(*[Unavailable("gone")] * 100)
    writing = asyncio.create_task(write.persistently())
    await wait_until(lambda: write.tries == 2)
    await cancelled(writing)
    assert write.tries == 2


async def test_a_known_outcome_is_written_after_the_attempt_was_cancelled() -> None:
    write = Flapping(Unavailable("gone"), Unavailable("gone"))
    settling = asyncio.create_task(finish_despite_cancel(write.persistently()))
    await wait_until(lambda: write.tries == 1)
    await cancelled(settling)
    assert write.tries == 3


async def test_an_error_during_the_grace_is_raised() -> None:
    with pytest.raises(StaleFence, match="overtaken"):
        await finish_within_grace(Flapping(StaleFence("overtaken")).persistently())
