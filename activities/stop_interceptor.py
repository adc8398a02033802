"""Ends activities of stopped turns by their rows in the database, also when Temporal delivers no signals."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from temporalio import activity
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from activities.store import stops
from activities.store.database import Database
from workflows.domain.ids import TurnId
from workflows.domain.open_call import CallResult, CallResultState
from workflows.domain.wire import FINISH_STOPPED, GenerateRequest, RunRequest, StepResult

POLL_INTERVAL: Final = 1.0  # seconds between two queries


@dataclass(eq=False)
class _Running:
    """`stopped`: cancelled because of a stop's row."""

    turn: TurnId
    task: "asyncio.Task[Any]"
    stopped: bool = False


_RUNNING: Final[ContextVar[_Running | None]] = ContextVar("running", default=None)


class StopInterceptor(Interceptor):
    """A worker calls `cancel_stopped` every POLL_INTERVAL: one statement covers all its activities."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._running: set[_Running] = set()

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _StopInbound(next, self)

    async def cancel_stopped(self) -> None:
        """Cancel, once, the activities of turns to stop."""
        waiting = [each for each in self._running if not each.stopped]
        if not waiting:
            return
        due = await stops.turns_to_stop(self.database, {each.turn for each in waiting})
        for running in waiting:
            if running.turn in due and running in self._running:
                running.stopped = True
                running.task.cancel()

    @contextmanager
    def track(self, turn: TurnId) -> Iterator[_Running]:
        """Suppresses a cancellation that is only ours."""
        task = asyncio.current_task()
        assert task is not None
        running = _Running(turn, task)
        token = _RUNNING.set(running)
        self._running.add(running)
        try:
            yield running
        except asyncio.CancelledError:
            if not running.stopped or task.uncancel() > 0:  # Temporal has cancelled it too
                raise
        finally:
            self._running.discard(running)
            _RUNNING.reset(token)


class _StopInbound(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, watch: StopInterceptor) -> None:
        super().__init__(next)
        self.watch = watch

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        request = input.args[0] if input.args else None
        if not isinstance(request, GenerateRequest | RunRequest) or activity.info().is_local:
            return await super().execute_activity(input)  # closing a turn must go on, and the rest is short
        with self.watch.track(request.turn):
            return await super().execute_activity(input)
        return stopped_result(request)


def stopped_result(request: GenerateRequest | RunRequest) -> StepResult | CallResult:
    if isinstance(request, GenerateRequest):
        return StepResult(finish=FINISH_STOPPED)
    return CallResult(state=CallResultState.SETTLED, stopped=True)


def stop_requested() -> bool:
    """Whether a cancellation means that the turn was stopped: not a deploy, a lost worker, or a zombie's end."""
    running = _RUNNING.get()
    if running is not None and running.stopped:
        return True
    details = activity.cancellation_details()
    return details is not None and details.cancel_requested and not details.not_found
