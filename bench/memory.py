"""A worker's memory: when it serves, after its first request, after much work."""

from typing import Final

import psutil

from bench import systems
from bench.figure_table import Budget, Figure
from bench.systems import play
from bench.testbed import Testbed

BEFORE: Final = Budget(must=150, aim=110)
FIRST: Final = Budget(must=320, aim=280)
MANY: Final = Budget(must=450, aim=350)
_QUEUE: Final = "memory"


async def measure_worker_memory(testbed: Testbed) -> list[Figure]:
    """A new worker's, which needs only wires of our own."""
    ours = await systems.start_holdfast(testbed, systems.project(testbed, _QUEUE), _QUEUE)
    before = resident(ours.worker)
    await play(testbed, ours, steps=1)
    return [
        Figure("worker's memory when it serves (MB)", before, None, BEFORE, digits=0),
        Figure("worker's memory after its first requests (MB)", resident(ours.worker), None, FIRST, digits=0),
    ]


def memory_figure(name: str, process: psutil.Process, budget: Budget | None = None) -> Figure:
    """That of a worker after much work."""
    return Figure(name, resident(process), None, budget, digits=0)


def resident(process: psutil.Process) -> float:
    """In megabytes."""
    return float(process.memory_info().rss) / 2**20
