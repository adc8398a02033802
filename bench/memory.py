"""Memory of a worker: when it serves, after its first request, and after much work."""

from typing import Final

import psutil

from bench import sides
from bench.sides import play
from bench.stage import Stage
from bench.table import Budget, Figure

BEFORE: Final = Budget(must=150, aim=110)
FIRST: Final = Budget(must=320, aim=280)
MANY: Final = Budget(must=450, aim=350)
_QUEUE: Final = "memory"


async def worker(stage: Stage) -> list[Figure]:
    """A new worker's; it begins to import the model library as soon as it serves."""
    ours = await sides.ours(stage, sides.project(stage, _QUEUE), _QUEUE)
    before = _resident(ours.worker)
    await play(stage, ours, steps=1)
    return [
        Figure("worker's memory when it serves (MB)", before, None, BEFORE, digits=0),
        Figure("worker's memory after its first requests (MB)", _resident(ours.worker), None, FIRST, digits=0),
    ]


def after(name: str, process: psutil.Process, budget: Budget | None = None) -> Figure:
    """That of a worker which has had much to do."""
    return Figure(name, _resident(process), None, budget, digits=0)


def _resident(process: psutil.Process) -> float:
    return float(process.memory_info().rss) / 2**20
