"""Bells: the signal that tells a session's workflow to look at its rows; it carries ids only."""

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
from worker.redacting import redactor
from worker.settings import Detail, Settings
from workflows.domain import attributes
from workflows.domain.errors import Unavailable
from workflows.domain.ids import WORKFLOW as WORKFLOW
from workflows.domain.ids import AskId, MessageId, PartId, SessionId, StopId
from workflows.domain.ids import workflow_id as workflow_id
from workflows.domain.state import Limits, SessionState
from workflows.domain.value import Value
from workflows.domain.wire import AnswerRef, LookRef, PromptRef, SettledRef, StopRef

_PATIENCE: Final = timedelta(seconds=5)
_SUMMARY: Final = 200  # bytes; the engine takes 400
_TASK: Final = timedelta(seconds=5)  # so long a worker that was killed inside a workflow task holds the session up


class Bells:
    """Rings by signal-with-start: a run that has completed is started anew, and looks at the rows."""

    def __init__(self, database: Database, client: Client, settings: Settings) -> None:
        self.database = database
        self.client = client
        self.settings = settings

    async def ring(self, bell: Bell) -> None:
        """Ring, and note that the engine has acknowledged. Raises Unavailable: the sweeper will ring again."""
        origin = await sessions.origin(self.database, bell.session)
        try:
            async with asyncio.timeout(_PATIENCE.total_seconds()), io_failpoint("external.bell", _lost):
                await self.client.start_workflow(
                    WORKFLOW,
                    self.state(bell.session),
                    id=workflow_id(bell.session),
                    task_queue=queue(self.settings.task_queue, origin.host),
                    task_timeout=_TASK,
                    start_signal=signal(bell.kind),
                    start_signal_args=[reference(bell)],
                    search_attributes=search_attributes(bell.session, origin.directory, origin.agent),
                    static_summary=self.summary(origin),
                    static_details=details(bell.session),
                )
        except (RPCError, TimeoutError) as error:
            raise Unavailable(f"Temporal did not take the bell for {bell.session}: {error}") from error
        await bells.rang(self.database, bell)

    def summary(self, origin: Origin) -> str:
        """What the stock UI calls the session: its title, where it may say so."""
        if self.settings.summaries is Detail.NAMES:
            return origin.agent
        told = f"{origin.agent}: {redactor(self.settings).text(origin.title)}"
        return told.encode(errors="replace")[:_SUMMARY].decode(errors="ignore")

    def state(self, session: SessionId) -> SessionState:
        """The state of a new run, with all limits written out: a replay must find them, whatever the defaults are."""
        limits = Limits(
            idle=self.settings.idle_seconds,
            events=self.settings.history_events,
            heartbeat=self.settings.heartbeat_seconds,
            generate=Limits().generate,
            effect=Limits().effect,
        )
        return SessionState(session=session, limits=limits)


def details(session: SessionId) -> str:
    """Where a person who looks at the stock UI finds the rest, in its Markdown."""
    return f"""What was said and done stands in Holdfast's database; terminating this run loses none of it.

    holdfast log {session}
    holdfast asks --session {session}
"""


def queue(shared: str, host: str | None) -> str:
    """Where a session's tasks wait, its activities' and its workflow's: one queue, for the server gives activities back
    with the answer to a workflow task only if they are for the queue that the task came from."""
    return shared if host is None else f"{shared}@{host}"


async def _lost() -> None:
    raise RPCError("the engine was lost", RPCStatusCode.UNAVAILABLE, b"")


def signal(kind: BellKind) -> str:
    """The workflow's name for a bell."""
    return "look" if kind in (BellKind.RETRY, BellKind.RESUME) else kind


def reference(bell: Bell) -> Value:
    """What the signal carries."""
    match bell.kind:
        case BellKind.PROMPT:
            return PromptRef(prompt=MessageId(bell.id))
        case BellKind.ANSWER:
            return AnswerRef(ask=AskId(bell.id))
        case BellKind.STOP:
            return StopRef(stop=StopId(bell.id), turn=bell.turn)
        case BellKind.SETTLED:
            return SettledRef(call=PartId(bell.id))
        case BellKind.RETRY | BellKind.RESUME:
            return LookRef(row=bell.id)


def search_attributes(session: SessionId, directory: str, agent: str) -> TypedSearchAttributes:
    """How the stock Temporal UI finds sessions; keywords hold 255 characters at most."""
    values = {attributes.SESSION: session, attributes.DIRECTORY: directory[-255:], attributes.AGENT: agent}
    return TypedSearchAttributes(
        [SearchAttributePair(SearchAttributeKey.for_keyword(name), value) for name, value in values.items()]
    )
