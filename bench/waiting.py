"""Sessions that wait for people: what a thousand of them cost while nobody answers."""

import asyncio
from collections.abc import Sequence
from typing import Final

from temporalio.client import Client

from activities.store import inbox
from activities.store.database import Database
from bench import sides
from bench.processor import busy, servers
from bench.sides import Ours
from bench.stage import Stage
from bench.table import Budget, Figure

ASKS: Final = 1000
NOTHING: Final = Budget(must=0, aim=0)
_QUEUE: Final = "waiting"
_AT_ONCE: Final = 20  # sessions that are begun, or looked at, side by side
_SETTLED: Final = 5.0  # seconds until the last of them has nothing more to do
_QUIET: Final = 30.0  # seconds
_PATIENCE: Final = 1200.0
_LOOK_AGAIN: Final = 0.5  # seconds


async def asks(stage: Stage) -> list[Figure]:
    """Real sessions that have come to a question: what their histories grow by, and what the processes use."""
    ours = await sides.ours(stage, sides.project(stage, _QUEUE, permission={"read": "ask"}), _QUEUE)
    workflows = await _begun(stage, ours)
    roots = {"worker": ours.worker, **servers(stage)}
    events, used = await _events(stage.temporal, workflows), busy(roots)
    await asyncio.sleep(_QUIET)
    spent = {name: (seconds - used[name]) / _QUIET * 1000 for name, seconds in busy(roots).items()}
    grown = await _events(stage.temporal, workflows) - events
    return [
        Figure(f"history events of {ASKS:,} waiting asks in {_QUIET:g} s", grown, None, NOTHING, digits=0),
        Figure("  CPU per second meanwhile: all (ms)", sum(spent.values())),
        *(Figure(f"  {name}", value) for name, value in spent.items()),
    ]


async def _begun(stage: Stage, ours: Ours) -> list[str]:
    """The workflows, when all of them wait."""
    script = sides.script(stage, 1)
    workflows: list[str] = []
    async with Database(stage.endpoints.postgres_url) as database, asyncio.timeout(_PATIENCE):
        before = len(await inbox.ask_ids(database))
        for _ in range(ASKS // _AT_ONCE):
            workflows += await asyncio.gather(*(ours.start(script) for _ in range(_AT_ONCE)))
        while len(await inbox.ask_ids(database)) < before + ASKS:
            await asyncio.sleep(_LOOK_AGAIN)
    await asyncio.sleep(_SETTLED)
    return workflows


async def _events(temporal: Client, workflows: Sequence[str]) -> int:
    """The events in the histories of all."""
    total = 0
    for first in range(0, len(workflows), _AT_ONCE):
        some = workflows[first : first + _AT_ONCE]
        seen = await asyncio.gather(*(temporal.get_workflow_handle(each).describe() for each in some))
        total += sum(each.history_length for each in seen)
    return total
