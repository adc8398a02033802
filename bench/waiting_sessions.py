"""What a thousand sessions cost while they wait for people."""

import asyncio
from collections.abc import Sequence
from typing import Final

from temporalio.client import Client

from activities.store import waiting_items
from activities.store.database import Database
from bench import systems
from bench.cpu import cpu_seconds, servers
from bench.figure_table import Budget, Figure
from bench.systems import HoldfastSystem
from bench.testbed import Testbed

ASKS: Final = 1000
NOTHING: Final = Budget(must=0, aim=0)
_QUEUE: Final = "waiting"
_AT_ONCE: Final = 20  # sessions started or read side by side
_SETTLED: Final = 5.0  # seconds until the last one is idle
_QUIET: Final = 30.0  # seconds
_TIMEOUT: Final = 1200.0
_POLL_INTERVAL: Final = 0.5  # seconds


async def measure_waiting_asks(testbed: Testbed) -> list[Figure]:
    """Real sessions with an ask: the growth of their histories, and the load of the processes."""
    ours = await systems.start_holdfast(testbed, systems.project(testbed, _QUEUE, permission={"read": "ask"}), _QUEUE)
    workflows = await _start_sessions(testbed, ours)
    roots = {"worker": ours.worker, **servers(testbed)}
    events, used = await _events(testbed.temporal, workflows), cpu_seconds(roots)
    await asyncio.sleep(_QUIET)
    spent = {name: (seconds - used[name]) / _QUIET * 1000 for name, seconds in cpu_seconds(roots).items()}
    grown = await _events(testbed.temporal, workflows) - events
    return [
        Figure(f"history events of {ASKS:,} waiting asks in {_QUIET:g} s", grown, None, NOTHING, digits=0),
        Figure("  CPU per second meanwhile: all (ms)", sum(spent.values())),
        *(Figure(f"  {name}", value) for name, value in spent.items()),
    ]


async def _start_sessions(testbed: Testbed, ours: HoldfastSystem) -> list[str]:
    """The workflows, once all of them wait."""
    script = systems.script(testbed, 1)
    workflows: list[str] = []
    async with Database(testbed.endpoints.postgres_url) as database, asyncio.timeout(_TIMEOUT):
        before = len(await waiting_items.pending_ask_ids(database))
        for _ in range(ASKS // _AT_ONCE):
            workflows += await asyncio.gather(*(ours.start(script) for _ in range(_AT_ONCE)))
        while len(await waiting_items.pending_ask_ids(database)) < before + ASKS:
            await asyncio.sleep(_POLL_INTERVAL)
    await asyncio.sleep(_SETTLED)
    return workflows


async def _events(temporal: Client, workflows: Sequence[str]) -> int:
    total = 0
    for first in range(0, len(workflows), _AT_ONCE):
        some = workflows[first : first + _AT_ONCE]
        seen = await asyncio.gather(*(temporal.get_workflow_handle(each).describe() for each in some))
        total += sum(each.history_length for each in seen)
    return total
