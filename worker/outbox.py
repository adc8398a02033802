"""Sends the outbox's signals; they carry only ids."""

import asyncio
import logging
from contextlib import aclosing, suppress
from datetime import timedelta
from typing import Final
from weakref import WeakValueDictionary

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import ResetStickyTaskQueueRequest
from temporalio.client import Client, WorkflowHistoryEventFilterType
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes
from temporalio.service import RPCError, RPCStatusCode

from activities.failpoints import io_failpoint
from activities.store import outbox, sessions
from activities.store.database import Database
from activities.store.sessions import Origin
from worker.background_tasks import every
from worker.redaction import redactor
from worker.settings import Settings, SummaryDetail
from workflows.domain import search_attributes
from workflows.domain.behaviour import NEWEST
from workflows.domain.errors import HoldfastError, Unavailable
from workflows.domain.hash_chain import LogPosition
from workflows.domain.ids import WORKFLOW_TYPE as WORKFLOW_TYPE
from workflows.domain.ids import SessionId
from workflows.domain.ids import workflow_id as workflow_id
from workflows.domain.state import SessionState, TurnLimits
from workflows.domain.wake_signal import WAKE, Wake

_SIGNAL_TIMEOUT: Final = timedelta(seconds=5)
_CLOSE_EVENT: Final = WorkflowHistoryEventFilterType.CLOSE_EVENT
_SUMMARY: Final = 200  # bytes; the engine takes 400
_TASK: Final = timedelta(seconds=5)  # a worker killed inside a workflow task blocks the session this long
_RECONNECT_PAUSE: Final = 1.0  # seconds until a broken connection is reopened
_LOG: Final = logging.getLogger("holdfast.outbox")


class SignalSender:
    """Sends a session's signals by signal-with-start: a completed run starts anew."""

    def __init__(self, database: Database, client: Client, settings: Settings) -> None:
        self.database = database
        self.client = client
        self.settings = settings
        self._sending: WeakValueDictionary[SessionId, asyncio.Lock] = WeakValueDictionary()

    async def send(self, session: SessionId) -> None:
        """Send what is pending; delete what Temporal has acknowledged. Raises Unavailable."""
        # One sender for a session: twenty at once would send each signal twenty times.
        async with self._sending.setdefault(session, asyncio.Lock()):
            signals = await outbox.pending(self.database, session)
            if not signals:
                return
            origin = await sessions.origin(self.database, session)
            for signal in signals:
                await self.signal(session, origin, Wake(kind=signal.kind, subject=signal.subject, turn=signal.turn))
                await outbox.delete(self.database, signal)

    async def forget_worker(self) -> None:
        """Let no run's next task wait for a worker that was killed, as far as that is quickly done."""
        requests = [
            ResetStickyTaskQueueRequest(
                namespace=self.client.namespace, execution=WorkflowExecution(workflow_id=workflow_id(session))
            )
            for session in await sessions.awake(self.database, self.settings.idle_seconds)
        ]
        service = self.client.workflow_service
        with suppress(TimeoutError):
            async with asyncio.timeout(_SIGNAL_TIMEOUT.total_seconds()):
                await asyncio.gather(*map(service.reset_sticky_task_queue, requests), return_exceptions=True)

    async def signal(self, session: SessionId, origin: Origin, wake: Wake) -> None:
        """Raises Unavailable."""
        try:
            async with asyncio.timeout(_SIGNAL_TIMEOUT.total_seconds()), io_failpoint("external.signal", _lost):
                if await self.signal_open_run(session, wake):
                    return
                await self.client.start_workflow(
                    WORKFLOW_TYPE,
                    self.state(session, await self.last_seen(session)),
                    id=workflow_id(session),
                    task_queue=queue(self.settings.task_queue, origin.host),
                    task_timeout=_TASK,
                    start_signal=WAKE,
                    start_signal_args=[wake],
                    search_attributes=session_attributes(session, origin.directory, origin.agent),
                    static_summary=self.summary(origin),
                    static_details=details(session),
                )
        except (RPCError, TimeoutError) as error:
            raise Unavailable(f"Temporal did not take the signal for {session}: {error}") from error

    async def signal_open_run(self, session: SessionId, wake: Wake) -> bool:
        try:
            await self.client.get_workflow_handle(workflow_id(session)).signal(WAKE, wake)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            return False
        return True

    async def last_seen(self, session: SessionId) -> LogPosition:
        """The newest event that the session's last run has seen, if it has completed: PostgreSQL may have been put back
        since."""
        handle = self.client.get_workflow_handle(workflow_id(session))
        try:
            async for event in handle.fetch_history_events(event_filter_type=_CLOSE_EVENT):
                if payloads := event.workflow_execution_completed_event_attributes.result.payloads:
                    (seen,) = await self.client.data_converter.decode(payloads, [LogPosition])
                    return seen or LogPosition()
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
        except Exception:  # another tool's run, with a result of its own
            _LOG.warning("the result of the last run of %s is not understood", session)
        return LogPosition()

    def summary(self, origin: Origin) -> str:
        """The title, if settings allow."""
        if self.settings.summaries is SummaryDetail.NAMES:
            return origin.agent
        summary = f"{origin.agent}: {redactor(self.settings).text(origin.title)}"
        return summary.encode(errors="replace")[:_SUMMARY].decode(errors="ignore")

    def state(self, session: SessionId, seen: LogPosition) -> SessionState:
        """A new run's state, with all limits explicit: a replay must not depend on defaults."""
        limits = TurnLimits(
            idle=self.settings.idle_seconds,
            events=self.settings.history_events,
            heartbeat=self.settings.heartbeat_seconds,
            model_timeout=TurnLimits().model_timeout,
            tool_timeout=TurnLimits().tool_timeout,
        )
        return SessionState(session=session, behaviour=NEWEST, limits=limits, seen=seen)


def details(session: SessionId) -> str:
    """Markdown for Temporal's UI."""
    return f"""Holdfast's database holds all that was said and done; terminating this run loses none of it.

    holdfast log {session}
    holdfast asks --session {session}
"""


def queue(shared: str, host: str | None) -> str:
    """One for workflow and activities: only then the server returns activities with a workflow task's answer."""
    return shared if host is None else f"{shared}@{host}"


async def _lost() -> None:
    raise RPCError("the engine was lost", RPCStatusCode.UNAVAILABLE, b"")


def session_attributes(session: SessionId, directory: str, agent: str) -> TypedSearchAttributes:
    """Keywords hold at most 255 characters."""
    values = {
        search_attributes.SESSION: session,
        search_attributes.DIRECTORY: directory[-255:],
        search_attributes.AGENT: agent,
    }
    return TypedSearchAttributes(
        [SearchAttributePair(SearchAttributeKey.for_keyword(name), value) for name, value in values.items()]
    )


class CommandListener:
    """Sends for commands, which end before they reach Temporal; the sweeper sends what fails here."""

    def __init__(self, database: Database, sender: SignalSender) -> None:
        self.database = database
        self.sender = sender

    async def run(self) -> None:
        """Listen until cancelled, each session in its own task; waits out outages."""
        async with asyncio.TaskGroup() as sending:
            await every(_RECONNECT_PAUSE, lambda: self._listen(sending), _LOG)

    async def _listen(self, sending: asyncio.TaskGroup) -> None:
        async with aclosing(outbox.passed_on(self.database)) as passed:
            async for session in passed:
                sending.create_task(self._send(session))

    async def _send(self, session: SessionId) -> None:
        try:
            await self.sender.send(session)
        except HoldfastError as error:
            _LOG.info("not sent: %s", error)
        except Exception:  # an edge: the other sessions go on
            _LOG.exception("not sent")
