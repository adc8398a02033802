"""Signals for a session's workflow to read its rows; they carry only ids."""

import asyncio
from datetime import timedelta
from typing import Final

from temporalio.client import Client
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes
from temporalio.service import RPCError, RPCStatusCode

from activities.failpoints import io_failpoint
from activities.store import bells, sessions
from activities.store.bells import Bell, BellKind
from activities.store.database import Database
from activities.store.sessions import Origin
from worker.redaction import redactor
from worker.settings import Settings, SummaryDetail
from workflows.domain import search_attributes
from workflows.domain.errors import Unavailable
from workflows.domain.ids import WORKFLOW_TYPE as WORKFLOW_TYPE
from workflows.domain.ids import SessionId
from workflows.domain.ids import workflow_id as workflow_id
from workflows.domain.state import SessionState, TurnLimits
from workflows.domain.wire import WAKE, Wake, WakeKind

_PATIENCE: Final = timedelta(seconds=5)
_SUMMARY: Final = 200  # bytes; the engine takes 400
_TASK: Final = timedelta(seconds=5)  # a worker killed inside a workflow task blocks the session this long


class Bells:
    """Sends by signal-with-start: a completed run starts anew."""

    def __init__(self, database: Database, client: Client, settings: Settings) -> None:
        self.database = database
        self.client = client
        self.settings = settings

    async def ring(self, bell: Bell) -> None:
        """Send and record the acknowledgement. Raises Unavailable: the sweeper retries."""
        origin = await sessions.origin(self.database, bell.session)
        try:
            async with asyncio.timeout(_PATIENCE.total_seconds()), io_failpoint("external.bell", _lost):
                await self.client.start_workflow(
                    WORKFLOW_TYPE,
                    self.state(bell.session),
                    id=workflow_id(bell.session),
                    task_queue=queue(self.settings.task_queue, origin.host),
                    task_timeout=_TASK,
                    start_signal=WAKE,
                    start_signal_args=[wake(bell)],
                    search_attributes=session_attributes(bell.session, origin.directory, origin.agent),
                    static_summary=self.summary(origin),
                    static_details=details(bell.session),
                )
        except (RPCError, TimeoutError) as error:
            raise Unavailable(f"Temporal did not take the bell for {bell.session}: {error}") from error
        await bells.rang(self.database, bell)

    def summary(self, origin: Origin) -> str:
        """Its name in Temporal's UI: the title, if settings allow."""
        if self.settings.summaries is SummaryDetail.NAMES:
            return origin.agent
        told = f"{origin.agent}: {redactor(self.settings).text(origin.title)}"
        return told.encode(errors="replace")[:_SUMMARY].decode(errors="ignore")

    def state(self, session: SessionId) -> SessionState:
        """A new run's state with all limits explicit: a replay must not depend on defaults."""
        limits = TurnLimits(
            idle=self.settings.idle_seconds,
            events=self.settings.history_events,
            heartbeat=self.settings.heartbeat_seconds,
            model_timeout=TurnLimits().model_timeout,
            tool_timeout=TurnLimits().tool_timeout,
        )
        return SessionState(session=session, limits=limits)


def details(session: SessionId) -> str:
    """Markdown for Temporal's UI."""
    return f"""What was said and done stands in Holdfast's database; terminating this run loses none of it.

    holdfast log {session}
    holdfast asks --session {session}
"""


def queue(shared: str, host: str | None) -> str:
    """The task queue of workflow and activities: the server returns activities with a workflow task's answer only on
    the same queue."""
    return shared if host is None else f"{shared}@{host}"


async def _lost() -> None:
    raise RPCError("the engine was lost", RPCStatusCode.UNAVAILABLE, b"")


def wake(bell: Bell) -> Wake:
    """What the signal carries."""
    kind = WakeKind.WORK if bell.kind in (BellKind.PROMPT, BellKind.RETRY) else WakeKind(bell.kind)
    return Wake(kind=kind, subject=bell.id, turn=bell.turn)


def session_attributes(session: SessionId, directory: str, agent: str) -> TypedSearchAttributes:
    """For Temporal's UI; keywords hold at most 255 characters."""
    values = {
        search_attributes.SESSION: session,
        search_attributes.DIRECTORY: directory[-255:],
        search_attributes.AGENT: agent,
    }
    return TypedSearchAttributes(
        [SearchAttributePair(SearchAttributeKey.for_keyword(name), value) for name, value in values.items()]
    )
