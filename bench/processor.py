"""Where the milliseconds of CPU of a step go: the worker, the engine's server, PostgreSQL."""

from collections.abc import Mapping
from typing import Final

import psutil

from bench.sides import Side, play
from bench.stage import Stage
from bench.step_overhead import SESSIONS
from bench.table import Figure
from worker.stack import state
from worker.stack.layout import Layout
from worker.stack.state import PartName

_STEPS: Final = 50
_WORKER: Final = "worker"
_SERVERS: Final = {PartName.TEMPORAL: "engine's server", PartName.POSTGRES: "PostgreSQL"}


async def spent(stage: Stage, ours: Side, floor: Side) -> list[Figure]:
    """Milliseconds per step of each process, with many sessions of many steps; external servers are not seen."""
    mine, theirs = await _per_step(stage, ours), await _per_step(stage, floor)
    name = f"CPU per step, {SESSIONS} sessions of {_STEPS} steps: {{}} (ms)"
    each = [Figure(f"  {part}", value, theirs[part]) for part, value in mine.items()]
    return [Figure(name.format("all"), sum(mine.values()), sum(theirs.values())), *each]


async def _per_step(stage: Stage, side: Side) -> dict[str, float]:
    roots = {_WORKER: side.worker, **servers(stage)}
    before = busy(roots)
    await play(stage, side, steps=_STEPS, sessions=SESSIONS)
    after = busy(roots)
    return {part: (after[part] - before[part]) * 1000 / (SESSIONS * _STEPS) for part in roots}


def servers(stage: Stage) -> dict[str, psutil.Process]:
    """The servers that the stage has started."""
    seen = state.read(Layout(home=stage.settings.home).state)
    parts = [] if seen is None else [(part.name, part.process) for part in seen.parts]
    return {_SERVERS[name]: psutil.Process(process.pid) for name, process in parts if process and name in _SERVERS}


def busy(roots: Mapping[str, psutil.Process]) -> dict[str, float]:
    """Seconds of CPU so far, with those of all children: PostgreSQL has a process for each connection."""
    return {part: sum(map(_seconds, [root, *root.children(recursive=True)])) for part, root in roots.items()}


def _seconds(process: psutil.Process) -> float:
    """Its own and those of its children that have ended."""
    try:
        return sum(process.cpu_times()[:4])
    except psutil.NoSuchProcess:
        return 0.0
