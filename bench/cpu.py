"""CPU milliseconds of a step: the worker, Temporal's server, PostgreSQL."""

from collections.abc import Mapping
from typing import Final

import psutil

from bench.figure_table import Figure
from bench.step_overhead import SESSIONS
from bench.systems import System, play
from bench.testbed import Testbed
from worker.stack import state_file
from worker.stack.layout import Layout
from worker.stack.state_file import PartName

_STEPS: Final = 50
_WORKER: Final = "worker"
_SERVERS: Final = {PartName.TEMPORAL: "engine's server", PartName.POSTGRES: "PostgreSQL"}


async def measure_cpu(testbed: Testbed, ours: System, floor: System) -> list[Figure]:
    """Milliseconds per step of each process, with many sessions of many steps; not of external servers."""
    mine, theirs = await _per_step(testbed, ours), await _per_step(testbed, floor)
    name = f"CPU per step, {SESSIONS} sessions of {_STEPS} steps: {{}} (ms)"
    each = [Figure(f"  {part}", value, theirs[part]) for part, value in mine.items()]
    return [Figure(name.format("all"), sum(mine.values()), sum(theirs.values())), *each]


async def _per_step(testbed: Testbed, side: System) -> dict[str, float]:
    roots = {_WORKER: side.worker, **servers(testbed)}
    before = cpu_seconds(roots)
    await play(testbed, side, steps=_STEPS, sessions=SESSIONS)
    after = cpu_seconds(roots)
    return {part: (after[part] - before[part]) * 1000 / (SESSIONS * _STEPS) for part in roots}


def servers(testbed: Testbed) -> dict[str, psutil.Process]:
    seen = state_file.read(Layout(home=testbed.settings.home).state)
    parts = [] if seen is None else [(part.name, part.process) for part in seen.parts]
    return {_SERVERS[name]: psutil.Process(process.pid) for name, process in parts if process and name in _SERVERS}


def cpu_seconds(roots: Mapping[str, psutil.Process]) -> dict[str, float]:
    """CPU seconds so far, with all children: PostgreSQL has a process per connection."""
    return {part: sum(map(_seconds, [root, *root.children(recursive=True)])) for part, root in roots.items()}


def _seconds(process: psutil.Process) -> float:
    try:
        return sum(process.cpu_times()[:4])
    except psutil.NoSuchProcess:
        return 0.0
