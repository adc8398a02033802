"""Engine: how a session's workflow reaches its activities, its ids, and its next run."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from temporalio import workflow
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError
from temporalio.workflow import ActivityConfig, LocalActivityConfig

from activities.session.project import Project
from activities.session.turns import Turns
from workflows import policies
from workflows.domain import attributes, ids
from workflows.domain.ids import SessionId
from workflows.domain.state import SessionState
from workflows.domain.wire import Closed, CloseReason, CloseRequest, Loaded, LoadRequest, LookRef, Request

_TRIES: Final = 3  # at starting or waking a subagent, which may fall asleep in between; then the sweeper wakes it

R = TypeVar("R")
Q = TypeVar("Q", bound=Request)


class Engine:
    """Carries out what needs the engine; keeps the numbers of the fence, and knows when nothing is in flight."""

    def __init__(self, state: SessionState) -> None:
        self.state = state
        self.in_flight = 0
        self.leaving = False
        if state.chain is None:
            state.chain = int(workflow.info().workflow_start_time.timestamp() * 1_000_000)

    def fence(self) -> dict[str, Any]:
        """The fields of a request that place it: session, chain, and a schedule number of its own."""
        self.state.schedule += 1
        return {"session": self.state.session, "chain": self.state.chain, "schedule": self.state.schedule}

    async def act(self, activity: Callable[..., Any], request: Q, config: ActivityConfig) -> Any:
        """Run an activity of ours: one model in, one model out.

        While the turn's moves are being ended (`leaving`), no result leads on: an activity that finishes all the
        same swallows the cancellation that came for it.
        """
        return await self._result(workflow.execute_activity_method(activity, request, **config))

    async def act_here(self, activity: Callable[..., Any], request: Q, config: LocalActivityConfig) -> Any:
        """The same, by the worker that carries out this workflow task, and as a part of the task: a bell or a stop
        that comes meanwhile waits for it."""
        return await self._result(workflow.execute_local_activity_method(activity, request, **config))

    async def _result(self, running: Awaitable[Any]) -> Any:
        self.in_flight += 1
        try:
            result = await running
        finally:
            self.in_flight -= 1
        if self.leaving:
            raise asyncio.CancelledError
        return result

    async def start_child(self, child: SessionId, agent: str | None) -> None:
        """Start the session of a subagent, or wake it where it still runs. From here on it lives by itself: its rows
        and its bell tell what becomes of it, and a run of ours may end before it does."""
        self.in_flight += 1
        try:
            await self._start_or_wake(child, agent)
        finally:
            self.in_flight -= 1
        if self.leaving:  # starting swallows the cancellation that came for it, as an activity does
            raise asyncio.CancelledError

    async def _start_or_wake(self, child: SessionId, agent: str | None) -> None:
        for _ in range(_TRIES):
            try:
                handle = await workflow.start_child_workflow(
                    workflow.info().workflow_type,
                    SessionState(session=child, limits=self.state.limits),
                    id=ids.workflow_id(child),
                    task_timeout=workflow.info().task_timeout,
                    parent_close_policy=workflow.ParentClosePolicy.ABANDON,
                    cancellation_type=workflow.ChildWorkflowCancellationType.ABANDON,  # its rows tell it of a stop
                    search_attributes=_of_child(workflow.info().typed_search_attributes, child, agent),
                )
                handle.add_done_callback(_unheard)
                return
            except WorkflowAlreadyStartedError:
                # An attempt before, or the sweeper, has started it; or it is gone on with, and has not fallen asleep.
                if not workflow.patched("wake-a-running-subagent") or await _woken(child):
                    return

    def mint(self, prefix: ids.Prefix) -> str:
        """A new id; the same one when replayed."""
        self.state.minted += 1
        milliseconds = int(workflow.now().timestamp() * 1000)
        return ids.mint(prefix, milliseconds, self.state.minted % 4096, workflow.random())

    def summary(self, *words: str) -> str:
        """What the stock UI shows for an activity; the engine takes 400 bytes."""
        return " ".join(words)[:100].encode(errors="replace")[:300].decode(errors="ignore")

    async def load(self) -> None:
        """Ask the rows what there is to do: the open turn, else a new one for the oldest untaken prompt."""
        self.state.rung = False
        request = LoadRequest(**self.fence(), turn=ids.TurnId(self.mint(ids.Prefix.TURN)))
        loaded: Loaded = await self.act(
            Project.load, request, policies.project(self.state.limits, self.summary("look for work"))
        )
        self.state.take_up(loaded)

    async def close(self, reason: CloseReason, error: str | None = None, *, end: bool = False) -> None:
        """End the open turn, and with `end` the session."""
        self.state.rung = False
        turn, number = (self.state.turn.id, self.state.turn.number) if self.state.turn else (None, None)
        request = CloseRequest(**self.fence(), turn=turn, reason=reason, error=error, end=end)
        closed: Closed = await self.act(
            Turns.close, request, policies.close(self.state.limits, self.summary("close", reason))
        )
        workflow.set_current_details(f"Turn {number} is over: {reason}" if number else f"Over: {reason}")
        self.state.closed(untaken=closed.untaken, ended=closed.ended)

    async def resumed(self, looks: int) -> None:
        """Wait until a person lets the parked session go on; `looks` is the count when its rows were asked last."""
        workflow.set_current_details("Parked: it goes on when a person says so")
        await workflow.wait_condition(lambda: self.state.looks > looks)

    def may_leave(self) -> bool:
        """Whether history is long and no activity is in flight: only people (or nobody) are waited for."""
        info = workflow.info()
        long = info.get_current_history_length() >= self.state.limits.events or info.is_continue_as_new_suggested()
        return long and self.in_flight == 0

    async def leave_if_long(self) -> None:
        """Continue as a new run with the same state; whatever came meanwhile is in it."""
        if self.may_leave():
            await workflow.wait_condition(workflow.all_handlers_finished)
            workflow.continue_as_new(self.state.whole())


def _of_child(own: TypedSearchAttributes, child: SessionId, agent: str | None) -> TypedSearchAttributes:
    """Our own search attributes, of the child."""
    changed = {attributes.SESSION: str(child), attributes.AGENT: agent or ""}
    return own.updated(
        *(SearchAttributePair(SearchAttributeKey.for_keyword(name), value) for name, value in changed.items() if value)
    )


async def _woken(child: SessionId) -> bool:
    """Tell a run to look at its rows; whether there still was one."""
    try:
        await workflow.get_external_workflow_handle(ids.workflow_id(child)).signal("look", LookRef(row=child))
    except ApplicationError:
        return False
    return True


def _unheard(handle: asyncio.Future[Any]) -> None:
    """Take note of how a child's run ended, and of no more: its rows say what that means."""
    if not handle.cancelled():
        handle.exception()
