"""Seconds from the restart of a killed worker to a session's next model request."""

import asyncio
from datetime import UTC, datetime
from statistics import median
from typing import Final

from bench import systems
from bench.figure_table import Budget, Figure
from bench.testbed import Testbed
from worker.scripted.request_ledger import RequestLedger
from workflows.domain.ids import SessionId

RESUMED: Final = Budget(must=8, aim=3)  # seconds: the heartbeat timeout and five more
_QUEUE: Final = "resumed"
_ROUNDS: Final = 5
_BEFORE: Final = 4  # requests before the kill
_TIMEOUT: Final = 300.0  # seconds


async def measure_resume(testbed: Testbed) -> list[Figure]:
    """From the start of the new worker's process to the next request; the kill comes within a step."""
    ours = await systems.start_holdfast(testbed, systems.project(testbed, _QUEUE), _QUEUE)
    starts, waits = [], []
    for _ in range(_ROUNDS):
        ledger = testbed.model.ledger
        before = len(ledger.entries)
        session = SessionId((await ours.start(systems.script(testbed, 1000))).partition("/")[2])
        await asyncio.wait_for(ledger.entry(before + _BEFORE), _TIMEOUT)
        ours.worker.kill()
        asked, killed = len(ledger.entries), datetime.now(UTC)
        ours.worker = await testbed.worker(_QUEUE, testbed.endpoints.postgres_url)
        starts.append((datetime.now(UTC) - killed).total_seconds())
        progress = await asyncio.wait_for(_first(ledger, asked + 1, killed), _TIMEOUT)
        waits.append((progress - killed).total_seconds())
        await ours.client.stop(session)
    return [
        Figure("kill -9 and restart of a worker to its session's next request (s)", median(waits), None, RESUMED),
        Figure("  of it until the new worker serves (s)", median(starts)),
    ]


async def _first(ledger: RequestLedger, number: int, after: datetime) -> datetime:
    """The start of the first request since `after`; one broken off by the kill is written behind it."""
    while (entry := await ledger.entry(number)).began < after:
        number += 1
    return entry.began
