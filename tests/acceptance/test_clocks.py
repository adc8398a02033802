"""A worker's clock that jumps by an hour: waits follow the servers, order follows the log (reliability.md row 44)."""

import asyncio
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from tests.acceptance import workers
from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import DONE, runs
from tests.acceptance.trial import Trial
from tests.polling import WAIT_TIMEOUT
from worker.scripted.script import Refuse
from workflows.domain.events.generations import ModelRetry
from workflows.domain.ids import SessionId

pytestmark = pytest.mark.acceptance

_LOOKS: Final = 1  # seconds between two looks of the library at its file
_LIBRARY: Final = "vendor/libfaketime/src/libfaketime.so.1"
_PAUSED: Final = DONE.model_copy(update={"faults": {1: Refuse(headers={"Retry-After": "6"})}})


@pytest.fixture
def clock(tmp_path: Path) -> Path:
    """A file with a clock's difference from the true time."""
    file = tmp_path / "clock"
    file.write_text("+0\n")
    return file


@pytest.fixture
def faked(clock: Path) -> dict[str, str]:
    """A process environment whose wall clock follows the file; skips where that is impossible."""
    found = importlib.util.find_spec("libfaketime")
    if found is None or found.origin is None:
        pytest.skip("libfaketime is there for Linux on x86_64 only")
    return {
        "LD_PRELOAD": str(Path(found.origin).parent / _LIBRARY),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_CACHE_DURATION": str(_LOOKS),
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


async def test_row_44_a_clock_that_jumps_by_an_hour_makes_nobody_wait_or_hurry(
    open_unjudged: Open, clock: Path, faked: dict[str, str]
) -> None:
    async with open_unjudged(runs("one"), _PAUSED) as trial:
        trial.wasted = 1
        with faked_clock(trial, faked):
            session, ask = await trial.asked()
            await jump(clock, "+1h")
            await trial.recording_client.answer(ask)
            retry = await trial.harness.until(session, lambda event: event.type == "model.retry")
            await jump(clock, "-1h")
            await trial.harness.ended(session)
            found = await trial.verdict()
        prepared, claimed = [await said_at(trial, session, name) for name in ("call.prepared", "call.claimed")]
    _, refused, answered = trial.harness.model.ledger.entries
    assert claimed - prepared > timedelta(hours=0.9), "the clock has not jumped"
    assert isinstance(retry, ModelRetry) and trial.effects.count("one") == 1
    assert 5 < (answered.began - refused.ended).total_seconds() < WAIT_TIMEOUT
    assert {each.invariant for each in found} <= {"I4"}  # it compares times of the worker's clock with true ones


async def test_a_worker_an_hour_behind_sends_a_signal_that_was_lost(
    open_unjudged: Open, clock: Path, faked: dict[str, str]
) -> None:
    clock.write_text("-1h\n")
    async with open_unjudged(runs("one"), DONE) as trial:
        with faked_clock(trial, faked):
            session, ask = await trial.asked()
            async with trial.cut_off() as recording_client:
                await recording_client.answer(ask)
            await trial.harness.ended(session)
            await trial.stop_workers()
            claimed = await said_at(trial, session, "call.claimed")
    assert datetime.now(UTC) - claimed > timedelta(hours=0.9), "the worker's clock was right"


@contextmanager
def faked_clock(trial: Trial, faked: dict[str, str]) -> Iterator[None]:
    """Start the trial's workers in this environment."""
    own = trial.harness.settings.environment
    trial.harness.settings = trial.harness.settings.model_copy(update={"environment": {**own, **faked}})
    with workers.fork_server(faked) as trial.fork_server:
        yield


async def jump(clock: Path, difference: str) -> None:
    """Set the clock; from now on the worker knows it."""
    clock.write_text(f"{difference}\n")
    await asyncio.sleep(2 * _LOOKS)


async def said_at(trial: Trial, session: SessionId, name: str) -> datetime:
    """The time of an event in the log."""
    (at,) = [
        seen.record.at async for seen in trial.harness.client.records.log(session) if seen.record.event.type == name
    ]
    return datetime.fromisoformat(at)
