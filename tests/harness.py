"""A test harness: a worker, a project directory and a scripted model, on the run's real servers."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.client import Client, WorkflowHandle, WorkflowHistory

from activities.calls.planner.planner import open_planner
from activities.mcp.connections import McpConnections
from activities.model.port import ModelPort
from activities.model.wires.router import WireRouter
from activities.stop_interceptor import POLL_INTERVAL, StopInterceptor
from activities.store import sessions
from activities.store.database import Database
from activities.tools.tool import Toolsets
from activities.web.web_fetcher import Network
from tests.polling import WAIT_TIMEOUT, wait_until
from worker.assemble import NETWORK, build_worker
from worker.background_tasks import every, run_in_background
from worker.client import Holdfast
from worker.engine_schedules import EngineSchedules
from worker.file_waits import FileWaits
from worker.outbox import SignalSender, workflow_id
from worker.reconcile import Reconciler
from worker.schedule_reconciler import ScheduleReconciler
from worker.scripted.model_server import ModelServer, serve
from worker.scripted.script import Script
from worker.session_client import SessionClient
from worker.settings import Settings
from worker.stack.state_file import Endpoints
from worker.sweeper import Sweeper
from workflows.domain.actor import Actor
from workflows.domain.events.event import Event
from workflows.domain.ids import AskId, SessionId, TurnId
from workflows.domain.messages import AssistantMessage, ToolPart, Transcript
from workflows.domain.permissions.replies import AskDecision, Reply
from workflows.domain.prompt import Prompt
from workflows.domain.views.events import EventWithContents
from workflows.domain.wake_signal import Wake, WakeKind

ACTOR = Actor(subject="tester@here", method="test")
SIGNALED = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED
WORKER_TIMEOUT = 4 * WAIT_TIMEOUT  # seconds until a worker shuts down: it hangs if pytest's own ends its loop


@dataclass
class Harness:
    """What a test needs."""

    settings: Settings
    endpoints: Endpoints
    database: Database
    temporal: Client
    holdfast: Holdfast
    client: SessionClient
    port: ModelPort
    model: ModelServer
    project: Path
    seen: dict[SessionId, list[EventWithContents]] = field(default_factory=dict)
    with_sweeper: bool = True

    def file(self, name: str, content: str) -> Path:
        """Write a file of the project."""
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return path

    def configure(self, **config: Any) -> None:
        """Write the project's opencode.json."""
        self.file("opencode.json", json.dumps(config))

    def configure_person(self, *, model: Mapping[str, Any], **config: Any) -> None:
        """Write into the person's own opencode.json: about the scripted model, and more."""
        file = self.settings.config / "opencode.json"
        known = json.loads(file.read_text())
        known["provider"]["scripted"]["models"] = {"model": model}
        agents = known["agent"] | config.pop("agent", {})
        file.write_text(json.dumps(known | config | {"agent": agents}))

    def set_limits(self, **limits: float) -> None:
        """Make runs that start from now on idle out (`idle_seconds`) or continue as new (`history_events`) early."""
        self.use_settings(self.settings.model_copy(update=limits))

    async def start_session(self, text: str) -> SessionId:
        """Start a session."""
        return (await self.client.start(str(self.project), Prompt.of_text(text, model="scripted/model"))).session

    async def until(self, session: SessionId, wanted: Callable[[Event], bool], times: int = 1) -> Event:
        """Wait until the session's log holds `times` such events; the last of them. Whatever the session says is
        progress."""
        loop = asyncio.get_running_loop()
        async with (
            asyncio.timeout(WAIT_TIMEOUT) as patience,
            aclosing(self.client.records.watch(session)) as watched,
        ):
            async for seen in watched:
                patience.reschedule(loop.time() + WAIT_TIMEOUT)
                if isinstance(seen, EventWithContents) and wanted(seen.record.event):
                    times -= 1
                    if times == 0:
                        return seen.record.event
        raise AssertionError("a watch does not end")

    async def events(self, session: SessionId) -> list[Event]:
        return [seen.record.event async for seen in self.client.records.log(session)]

    async def ended(self, session: SessionId, turns: int = 1) -> Event:
        """Wait for the end of the session's n-th turn."""
        return await self.until(session, lambda event: event.type == "turn.ended", turns)

    async def wait_for_asks(self, session: SessionId, count: int = 1) -> list[AskId]:
        """Wait until `count` asks were raised; the open ones."""
        await self.until(session, lambda event: event.type == "ask.raised", count)
        return [entry.id for entry in await self.client.inbox.asks(session=session)]

    async def answer(self, ask: AskId, reply: Reply = Reply.ONCE, **more: Any) -> None:
        await self.client.answer(ask, AskDecision(reply=reply, **more))

    async def calls(self, session: SessionId) -> list[ToolPart]:
        """All calls of the session, in order."""
        return calls(await self.client.records.transcript(session))

    def use_settings(self, settings: Settings) -> None:
        """Make the client use other settings, also for the signals that it sends."""
        self.holdfast.settings = settings
        self.client = self.holdfast.as_(self.client.actor)

    async def signal(self, session: SessionId, kind: WakeKind, subject: str = "", turn: TurnId | None = None) -> None:
        """Signal the session's workflow, with or without a row behind it; starts a run where none is open."""
        origin = await sessions.origin(self.database, session)
        sender = SignalSender(self.database, self.temporal, self.settings)
        await sender.signal(session, origin, Wake(kind=kind, subject=subject, turn=turn))

    def workflow(self, session: SessionId) -> WorkflowHandle[Any, Any]:
        """The session's workflow, as an operator has it."""
        return self.temporal.get_workflow_handle(workflow_id(session))

    async def history(self, session: SessionId) -> WorkflowHistory:
        return await self.workflow(session).fetch_history()

    @asynccontextmanager
    async def running_worker(
        self,
        *,
        with_sweeper: bool | None = None,
        toolsets: Toolsets | None = None,
        network: Network = NETWORK,
        **changed: Any,
    ) -> AsyncIterator[None]:
        """A worker while the block runs, with its sweeper or without: then a lost first signal stays lost."""
        settings = self.settings.model_copy(update=changed)
        stops = StopInterceptor(self.database)
        background = [every(POLL_INTERVAL, stops.cancel_stopped, logging.getLogger(__name__))]
        if self.with_sweeper if with_sweeper is None else with_sweeper:
            sender = SignalSender(self.database, self.temporal, settings)
            reconciler = Reconciler(self.database, self.temporal, sender, settings.reconcile_seconds)
            engine = EngineSchedules(self.temporal, settings.task_queue)
            schedules = ScheduleReconciler(self.database, engine, sender, settings.reconcile_seconds)
            background += [Sweeper(self.database, sender, reconciler, schedules).run()]
            background += [FileWaits(self.database, sender.send, settings.host).run()]
        async with (
            open_planner() as planner,
            McpConnections(settings.environment, settings.mcp_logins) as connections,
            build_worker(
                settings, self.temporal, self.database, self.port, stops, planner, connections, toolsets, network
            ),
            asyncio.timeout(WORKER_TIMEOUT),
            run_in_background(*background),
        ):
            yield


async def wait_for_file(path: Path, suffix: str = ".reached") -> None:
    """Wait for the file of a scripted hold or of a command."""
    await wait_until(path.with_name(path.name + suffix).exists)


def calls(transcript: Transcript) -> list[ToolPart]:
    """The transcript's calls, in order."""
    answers = [message for message in transcript if isinstance(message, AssistantMessage)]
    return [part for answer in answers for part in answer.parts if isinstance(part, ToolPart)]


def signals(history: WorkflowHistory) -> list[Wake]:
    """The signals that a run has got."""
    attributes = [
        each.workflow_execution_signaled_event_attributes for each in history.events if each.event_type == SIGNALED
    ]
    return [Wake.model_validate_json(each.input.payloads[0].data) for each in attributes]


def failed_tasks(history: WorkflowHistory) -> list[str]:
    """Why workflow tasks of a run failed; without signals that race with its end, and an operator's termination or
    reset."""
    harmless = (
        WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND,
        WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND,
        WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW,
    )
    failed = [event for event in history.events if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED]
    attributes = [event.workflow_task_failed_event_attributes for event in failed]
    return [str(each.failure.message) for each in attributes if each.cause not in harmless]


@asynccontextmanager
async def harness(
    settings: Settings,
    endpoints: Endpoints,
    temporal: Client,
    port: WireRouter,
    scripts: Script | Mapping[str, Script],
    directory: Path,
) -> AsyncIterator[Harness]:
    """A harness without a worker: `Harness.running_worker` adds one."""
    project = directory / "project"
    project.mkdir()
    config = directory / ".config" / "opencode"
    config.mkdir(parents=True)
    async with serve(scripts) as model, Database(endpoints.postgres_url, pooler=endpoints.pooler_url) as database:
        provider = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": model.url, "apiKey": "test-key"}}
        untitled = {"title": {"disable": True}}  # its request and events come at any moment of the first turn
        (config / "opencode.json").write_text(json.dumps({"provider": {"scripted": provider}, "agent": untitled}))
        environment = {**settings.environment, "HOME": str(directory)}
        own = settings.model_copy(
            update={
                "home": directory / "home",
                "config": config,
                "environment": environment,
                "idle_seconds": 2.0,
                "reconcile_seconds": 5.0,
            }
        )
        async with Holdfast(own, endpoints) as holdfast:
            client = holdfast.as_(ACTOR)
            yield Harness(own, endpoints, database, temporal, holdfast, client, port, model, project)
            await port.close()  # the connections that workers have left open would be a failure of some later test
