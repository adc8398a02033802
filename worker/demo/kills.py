"""kill -9, for real: who was hit, and how soon the session went on."""

import asyncio
import signal
from datetime import UTC, datetime
from typing import Final

import psutil

from worker.settings import Settings
from worker.stack import processes, state
from worker.stack.layout import Layout
from worker.stack.processes import ProcessRef
from worker.stack.state import Part, PartName, StackState
from workflows.domain.errors import Unavailable
from workflows.domain.value import Value

_PATIENCE: Final = 10.0  # seconds until a killed process must be gone
_POLL: Final = 0.02  # seconds


class Kill(Value):
    """Processes that served, and were killed at once."""

    what: str
    victims: tuple[ProcessRef, ...]
    at: datetime


class Successor(Value):
    """The worker that came after a kill, and when it was first seen."""

    pid: int
    seen: datetime


class Recovery(Value):
    """What came after a kill: another worker, and the moment in which the session made progress again."""

    kill: Kill
    worker: Successor
    progress: datetime
    how: str

    @property
    def until_back(self) -> float:
        """Seconds from the kill to the new worker."""
        return (self.worker.seen - self.kill.at).total_seconds()

    @property
    def until_progress(self) -> float:
        """Seconds from the new worker to the next progress."""
        return (self.progress - self.worker.seen).total_seconds()


async def kill_worker(settings: Settings, what: str) -> Kill:
    """Kill the worker. Raises Unavailable when none runs: a kill that hits nothing shows nothing."""
    return await _kill(what, (_worker(settings),))


async def kill_everything(settings: Settings, what: str) -> Kill:
    """Kill the supervisor and all that runs below it: worker, Temporal, PostgreSQL with its backends."""
    supervisor = _stack(settings).supervisor
    below = psutil.Process(supervisor.pid).children(recursive=True)
    return await _kill(what, (supervisor, *(processes.ref(each.pid) for each in below)))


async def successor(settings: Settings, kill: Kill) -> Successor:
    """Wait for the worker after a kill: nobody but the stack's own file tells of it."""
    while True:
        seen = state.read(Layout(home=settings.home).state)
        part = seen.part(PartName.WORKER) if seen is not None else None
        if part is not None and part.process is not None and part.alive and part.process not in kill.victims:
            return Successor(pid=part.process.pid, seen=datetime.now(UTC))
        await asyncio.sleep(_POLL)


async def _kill(what: str, victims: tuple[ProcessRef, ...]) -> Kill:
    at = datetime.now(UTC)
    for victim in victims:
        victim.kill(signal.SIGKILL)
    for victim in victims:
        if not await processes.gone(victim, _PATIENCE):
            raise Unavailable(f"Process {victim.pid} survived `kill -9`.")
    return Kill(what=what, victims=victims, at=at)


def _worker(settings: Settings) -> ProcessRef:
    part: Part | None = _stack(settings).part(PartName.WORKER)
    if part is None or part.process is None or not part.alive:
        raise Unavailable("No worker runs: see `holdfast status` and `holdfast logs`.")
    return part.process


def _stack(settings: Settings) -> StackState:
    seen = state.read(Layout(home=settings.home).state)
    if seen is None or not seen.serving:
        raise Unavailable("The demo's stack does not serve: see `holdfast status` and `holdfast logs`.")
    return seen
