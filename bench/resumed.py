"""Resuming: how long after the restart of a worker that was killed a session asks its model again."""

import asyncio
from datetime import UTC, datetime
from statistics import median
from typing import Final

from bench import sides
from bench.stage import Stage
from bench.table import Budget, Figure
from worker.scripted.ledger import Ledger
from workflows.domain.ids import SessionId

RESUMED: Final = Budget(must=8, aim=3)  # seconds: the heartbeat timeout and five more
_QUEUE: Final = "resumed"
_ROUNDS: Final = 5
_BEFORE: Final = 4  # requests before the kill
_PATIENCE: Final = 300.0  # seconds: the first request of a worker imports the model library


async def resumed(stage: Stage) -> list[Figure]:
    """From the start of the new worker's process to the next request; the kill comes somewhere in a step."""
    ours = await sides.ours(stage, sides.project(stage, _QUEUE), _QUEUE)
    starts, waits = [], []
    for _ in range(_ROUNDS):
        ledger = stage.model.ledger
        before = len(ledger.entries)
        session = SessionId((await ours.start(sides.script(stage, 1000))).partition("/")[2])
        await asyncio.wait_for(ledger.entry(before + _BEFORE), _PATIENCE)
        ours.worker.kill()
        asked, killed = len(ledger.entries), datetime.now(UTC)
        ours.worker = await stage.worker(_QUEUE, stage.endpoints.postgres_url)
        starts.append((datetime.now(UTC) - killed).total_seconds())
        progress = await asyncio.wait_for(_first(ledger, asked + 1, killed), _PATIENCE)
        waits.append((progress - killed).total_seconds())
        await ours.client.stop(session)
    return [
        Figure("kill -9 and restart of a worker to its session's next request (s)", median(waits), None, RESUMED),
        Figure("  of it until the new worker serves (s)", median(starts)),
    ]


async def _first(ledger: Ledger, number: int, after: datetime) -> datetime:
    """When the first request since then began; one that the kill broke off is written behind it."""
    while (entry := await ledger.entry(number)).began < after:
        number += 1
    return entry.began
