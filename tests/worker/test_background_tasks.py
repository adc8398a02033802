"""Background loops outlive their failures."""

import asyncio
import logging

import pytest

from worker.background_tasks import every, run_in_background
from workflows.domain.errors import Unavailable


async def test_a_loop_goes_on_after_each_failure_and_logs_it(caplog: pytest.LogCaptureFixture) -> None:
    failures = iter([Unavailable("away"), OSError("no disk"), ValueError("a bug")])
    done = asyncio.Event()

    async def work() -> None:
        for failure in failures:
            raise failure
        done.set()

    with caplog.at_level(logging.INFO):
        async with run_in_background(every(0, work, logging.getLogger("holdfast.test"))), asyncio.timeout(10):
            await done.wait()
    levels = [(record.levelname, record.exc_info is not None) for record in caplog.records]
    assert levels == [("INFO", False), ("INFO", False), ("ERROR", True)]
    assert "away" in caplog.text and "a bug" in caplog.text
