"""SessionRuntime: a session workflow's activities, ids, and next run."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from temporalio import workflow
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes
from temporalio.exceptions import ActivityError, ApplicationError, FailureError, WorkflowAlreadyStartedError
from temporalio.workflow import ActivityConfig, LocalActivityConfig

from activities.session.open_turn import ProjectActivities
from activities.session.turns import TurnActivities
from workflows import policies
from workflows.activity_failures import has_type, is_stale
from workflows.domain import ids, search_attributes
from workflows.domain.errors import DatabaseBehind, NotFound, ReloadDue
from workflows.domain.generation import Purpose
from workflows.domain.ids import GenerationId, SessionId
from workflows.domain.state import Aside, SessionState
from workflows.domain.value import Result
from workflows.domain.wake_signal import WAKE, Wake, WakeKind
from workflows.domain.wire import AsideRequest, CloseReason, CloseRequest, CloseResult, LoadRequest, LoadResult, Request

# to start or wake a subagent; then it is left to the sweeper
_START_ATTEMPTS: Final = 3

R = TypeVar("R")
Q = TypeVar("Q", bound=Request)


class SessionRuntime:
    """Runs activities and child workflows; counts the fence's sequence and what is in flight."""

    def __init__(self, state: SessionState) -> None:
        self.state = state
        self.in_flight = 0
        self.cancelling = False

    def fence(self) -> dict[str, Any]:
        self.state.sequence += 1
        named = {"session": self.state.session, "epoch": self.state.epoch, "sequence": self.state.sequence}
        return {**named, "seen": self.state.seen}

    async def run_activity(self, activity: Callable[..., Any], request: Q, config: ActivityConfig) -> Any:
        """One model in, one model out. Raises ReloadDue."""
        self.require_no_reload()
        return await self._await_result(workflow.execute_activity_method(activity, request, **config))

    async def run_local_activity(self, activity: Callable[..., Any], request: Q, config: LocalActivityConfig) -> Any:
        """Within this workflow task, on the same worker; signals wait meanwhile. Raises ReloadDue."""
        self.require_no_reload()
        return await self._await_result(workflow.execute_local_activity_method(activity, request, **config))

    def require_no_reload(self) -> None:
        """Raises ReloadDue."""
        if self.state.reload:
            raise ReloadDue

    async def _await_result(self, running: Awaitable[Result]) -> Result:
        self.in_flight += 1
        try:
            result = await running
        except FailureError as error:
            if has_type(error, DatabaseBehind):
                self.state.begin_anew()
            elif not is_stale(error):
                raise
            self.state.reload = True
            raise ReloadDue from error
        finally:
            self.in_flight -= 1
        self.state.seen = max(self.state.seen, result.seen)
        if self.cancelling:  # an activity that still finishes swallows its cancellation
            raise asyncio.CancelledError
        return result

    async def start_child(self, child: SessionId, agent: str | None) -> None:
        """Start a subagent's session, or wake its running workflow. This run may end first: rows and a signal report
        the child's end. Raises ReloadDue."""
        self.require_no_reload()
        self.in_flight += 1
        try:
            await self._start_or_signal(child, agent)
        finally:
            self.in_flight -= 1
        if self.cancelling:  # a start swallows its cancellation too
            raise asyncio.CancelledError

    async def _start_or_signal(self, child: SessionId, agent: str | None) -> None:
        for _ in range(_START_ATTEMPTS):
            try:
                handle = await workflow.start_child_workflow(
                    workflow.info().workflow_type,
                    SessionState(session=child, behaviour=self.state.behaviour, limits=self.state.limits),
                    id=ids.workflow_id(child),
                    task_timeout=workflow.info().task_timeout,
                    parent_close_policy=workflow.ParentClosePolicy.ABANDON,
                    cancellation_type=workflow.ChildWorkflowCancellationType.ABANDON,  # its rows hold the stop
                    search_attributes=_child_search_attributes(workflow.info().typed_search_attributes, child, agent),
                )
                handle.add_done_callback(_consume_exception)
                return
            except WorkflowAlreadyStartedError:
                # An earlier attempt or the sweeper started it, or it still runs.
                if await _signal_if_running(child):
                    return

    def start_aside(self, generation: GenerationId, purpose: Purpose = Purpose.TITLE) -> None:
        """Start side work. Neither this run nor a later one waits for it: its result is in the rows."""
        asyncio.ensure_future(self._start_aside(generation, purpose)).add_done_callback(_consume_exception)

    async def _start_aside(self, generation: GenerationId, purpose: Purpose) -> None:
        request = AsideRequest(**self.fence(), generation=generation, purpose=purpose)
        handle = await workflow.start_child_workflow(  # raises if it runs already
            ids.ASIDE_TYPE,
            Aside(request=request, limits=self.state.limits),
            id=request.caller.id,
            task_timeout=workflow.info().task_timeout,
            parent_close_policy=workflow.ParentClosePolicy.ABANDON,
            cancellation_type=workflow.ChildWorkflowCancellationType.ABANDON,
            search_attributes=_child_search_attributes(
                workflow.info().typed_search_attributes, self.state.session, purpose.value
            ),
        )
        handle.add_done_callback(_consume_exception)

    def mint(self, prefix: ids.Prefix) -> str:
        """A new id, equal on replay."""
        self.state.minted += 1
        milliseconds = int(workflow.now().timestamp() * 1000)
        return ids.mint(prefix, milliseconds, self.state.minted % 4096, workflow.random())

    def summary(self, *words: str) -> str:
        """A summary for Temporal's UI; the server takes 400 bytes."""
        return " ".join(words)[:100].encode(errors="replace")[:300].decode(errors="ignore")

    async def load(self) -> bool:
        """Load the open turn, else open one for the oldest untaken prompt. False: the session is no longer this run's
        (archived, restored since, or a forged epoch)."""
        self.state.load_due = self.state.reload = False
        request = LoadRequest(**self.fence(), turn=ids.TurnId(self.mint(ids.Prefix.TURN)))
        try:
            loaded: LoadResult = await self.run_activity(
                ProjectActivities.load, request, policies.project(self.state.limits, self.summary("look for work"))
            )
        except (ReloadDue, ActivityError) as error:
            if request.seen != self.state.seen:  # the rows are behind
                return await self.load()
            if isinstance(error, ReloadDue) or has_type(error, NotFound):
                return False
            raise
        self.state.apply_load_result(loaded)
        if loaded.title is not None:
            self.start_aside(loaded.title)
        return True

    async def close(self, reason: CloseReason, error: str | None = None, *, end: bool = False) -> None:
        """With `end`, the session ends too. Raises ReloadDue."""
        self.state.load_due = False
        turn = self.state.turn
        named = {"turn": turn.id, "step": turn.seen_step} if turn is not None else {}
        request = CloseRequest(**self.fence(), **named, reason=reason, error=error, end=end)
        closed: CloseResult = await self.run_activity(
            TurnActivities.close, request, policies.close(self.state.limits, self.summary("close", reason))
        )
        workflow.set_current_details(f"Turn {turn.number} is over: {reason}" if turn else f"Over: {reason}")
        self.state.close_turn(prompts_waiting=closed.prompts_waiting, ended=closed.ended)

    async def wait_until_resumed(self) -> None:
        """Raises ReloadDue."""
        workflow.set_current_details("Suspended until a person resumes it")
        await workflow.wait_condition(lambda: self.state.reload)
        raise ReloadDue

    async def wait_for_provider(self, seconds: float) -> None:
        """A pause that is ended early reloads the rows, which cancels this."""
        workflow.set_current_details("Waits for the provider")
        await workflow.sleep(seconds, summary="until the provider may be asked again")

    def can_continue_as_new(self) -> bool:
        info = workflow.info()
        long = info.get_current_history_length() >= self.state.limits.events or info.is_continue_as_new_suggested()
        return long and self.in_flight == 0

    async def continue_as_new_if_due(self) -> None:
        if self.can_continue_as_new():
            await workflow.wait_condition(workflow.all_handlers_finished)
            workflow.continue_as_new(self.state.with_all_fields_set())


def _child_search_attributes(own: TypedSearchAttributes, child: SessionId, agent: str | None) -> TypedSearchAttributes:
    changed = {search_attributes.SESSION: str(child), search_attributes.AGENT: agent or ""}
    return own.updated(
        *(SearchAttributePair(SearchAttributeKey.for_keyword(name), value) for name, value in changed.items() if value)
    )


async def _signal_if_running(child: SessionId) -> bool:
    """False if no run is open."""
    try:
        await workflow.get_external_workflow_handle(ids.workflow_id(child)).signal(WAKE, Wake(kind=WakeKind.WORK))
    except ApplicationError:
        return False
    return True


def _consume_exception(handle: asyncio.Future[Any]) -> None:
    """Keeps asyncio from logging how a child failed: its rows say it."""
    if not handle.cancelled():
        handle.exception()
