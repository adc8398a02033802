"""Stops as their rows tell of them: they end what runs here for a turn also while Temporal takes no signals."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from temporalio import activity
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from activities.store import stops
from activities.store.database import Database
from workflows.domain.errors import Unavailable
from workflows.domain.ids import TurnId
from workflows.domain.wire import STOPPED, GenerateRequest, Ran, RanState, RunRequest, Step

EVERY: Final = 1.0  # seconds between two looks at the rows
_LOG: Final = logging.getLogger("holdfast.stopping")


@dataclass(eq=False)
class _Running:
    """An activity that works for a turn; `stopped`: it was cancelled for a stop's row."""

    turn: TurnId
    task: "asyncio.Task[Any]"
    stopped: bool = False


_RUNNING: Final[ContextVar[_Running | None]] = ContextVar("running", default=None)


class StopWatch(Interceptor):
    """Ends answers and calls whose turn is named by a stop, or whose session has ended, as a stop's signal does.

    A worker looks once a second, by one statement for all that runs in it.
    """

    def __init__(self, database: Database, every: float = EVERY) -> None:
        self.database = database
        self.every = every
        self._running: set[_Running] = set()

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _Watched(next, self)

    async def run(self) -> None:
        """Look until cancelled; an outage is waited out."""
        while True:
            await asyncio.sleep(self.every)
            try:
                await self.look()
            except Unavailable as error:
                _LOG.info("stops were not looked at: %s", error)
            except Exception:  # nobody would notice its end
                _LOG.exception("stops were not looked at")

    async def look(self) -> None:
        """Cancel, once, what runs for a turn that is to stop. Raises Unavailable."""
        waiting = [each for each in self._running if not each.stopped]
        if not waiting:
            return
        due = await stops.due(self.database, {each.turn for each in waiting})
        for running in waiting:
            if running.turn in due and running in self._running:
                running.stopped = True
                running.task.cancel()

    @contextmanager
    def watched(self, turn: TurnId) -> Iterator[_Running]:
        """Watch the current task while the block runs, which swallows a cancellation that is ours alone."""
        task = asyncio.current_task()
        assert task is not None
        running = _Running(turn, task)
        token = _RUNNING.set(running)
        self._running.add(running)
        try:
            yield running
        except asyncio.CancelledError:
            if not running.stopped or task.uncancel() > 0:  # Temporal has cancelled it, too
                raise
        finally:
            self._running.discard(running)
            _RUNNING.reset(token)


class _Watched(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, watch: StopWatch) -> None:
        super().__init__(next)
        self.watch = watch

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        request = input.args[0] if input.args else None
        if not isinstance(request, GenerateRequest | RunRequest) or activity.info().is_local:
            return await super().execute_activity(input)  # what closes a turn goes on, the rest is short
        with self.watch.watched(request.turn):
            return await super().execute_activity(input)
        return refusal(request)


def refusal(request: GenerateRequest | RunRequest) -> Step | Ran:
    """What the workflow is told of work that a stop has ended: it takes that for the stop."""
    if isinstance(request, GenerateRequest):
        return Step(finish=STOPPED)
    return Ran(state=RanState.SETTLED, stopped=True)


def stop_requested() -> bool:
    """Whether a cancellation means that the turn was stopped: not a deploy, a lost worker, or a zombie's end."""
    running = _RUNNING.get()
    if running is not None and running.stopped:
        return True
    details = activity.cancellation_details()
    return details is not None and details.cancel_requested and not details.not_found
