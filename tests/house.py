"""A house to test in: a worker, a project directory, and a scripted model, around the run's real servers."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.client import Client, WorkflowHistory

from activities.model.port import ModelPort
from activities.session.answers import Decided
from activities.stopping import StopWatch
from activities.store.database import Database
from activities.tools.planner.planner import planning
from activities.tools.table import TOOLS
from activities.tools.tool import Tool
from tests.patience import PATIENCE
from worker.assemble import worker
from worker.bells import Bells, workflow_id
from worker.chores import beside
from worker.client import Seen, SessionClient
from worker.scripted.script import Script
from worker.scripted.server import ModelServer, serve
from worker.settings import Settings
from worker.stack.state import Endpoints
from worker.sweeper import Sweeper
from workflows.domain.events import Actor, Event
from workflows.domain.ids import AskId, SessionId
from workflows.domain.messages import AssistantMessage, ToolPart, Transcript
from workflows.domain.permissions.replies import Reply

ACTOR = Actor(subject="tester@here", method="test")
LONGEST = 140.0  # seconds until a worker is shut down from within: where pytest's timeout ends its loop, it hangs


@dataclass
class House:
    """What a test needs at hand."""

    settings: Settings
    endpoints: Endpoints
    database: Database
    temporal: Client
    client: SessionClient
    port: ModelPort
    model: ModelServer
    project: Path
    seen: dict[SessionId, list[Seen]] = field(default_factory=dict)
    swept: bool = True

    def file(self, name: str, content: str) -> Path:
        """A file of the project."""
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return path

    def configure(self, **config: Any) -> None:
        """The project's opencode.json."""
        self.file("opencode.json", json.dumps(config))

    def hurry(self, **limits: float) -> None:
        """Have runs that start from now on fall asleep (`idle_seconds`) or leave (`history_events`) early."""
        self.client.settings = self.settings.model_copy(update=limits)

    async def say(self, text: str) -> SessionId:
        """Start a session."""
        return (await self.client.start(str(self.project), text, model="scripted/model")).session

    async def until(self, session: SessionId, wanted: Callable[[Event], bool], times: int = 1) -> Event:
        """Wait until the session's log holds `times` such events; the last of them."""
        async with asyncio.timeout(PATIENCE), aclosing(self.client.watch(session)) as watched:
            async for seen in watched:
                if isinstance(seen, Seen) and wanted(seen.record.event):
                    times -= 1
                    if times == 0:
                        return seen.record.event
        raise AssertionError("a watch does not end")

    async def events(self, session: SessionId) -> list[Event]:
        return [seen.record.event async for seen in self.client.log(session)]

    async def ended(self, session: SessionId, turns: int = 1) -> Event:
        """Wait for the end of the session's n-th turn."""
        return await self.until(session, lambda event: event.type == "turn.ended", turns)

    async def asked(self, session: SessionId, count: int = 1) -> list[AskId]:
        """Wait until so many asks were raised; those that are open."""
        await self.until(session, lambda event: event.type == "ask.raised", count)
        return [entry.id for entry in await self.client.asks(session=session)]

    async def answer(self, ask: AskId, reply: Reply = Reply.ONCE, **more: Any) -> None:
        await self.client.answer(ask, Decided(reply=reply, **more))

    async def calls(self, session: SessionId) -> list[ToolPart]:
        """All calls of the session, in order."""
        return calls(await self.client.transcript(session))

    async def history(self, session: SessionId) -> WorkflowHistory:
        return await self.temporal.get_workflow_handle(workflow_id(session)).fetch_history()

    @asynccontextmanager
    async def working(
        self, *, swept: bool | None = None, tools: Mapping[str, Tool[Any]] = TOOLS, **changed: Any
    ) -> AsyncIterator[None]:
        """A worker while the block runs, with its sweeper or without one: what a first signal loses stays lost then."""
        settings = self.settings.model_copy(update=changed)
        stops = StopWatch(self.database)
        sweeper = Sweeper(self.database, self.temporal, Bells(self.database, self.temporal, settings))
        async with (
            planning() as planner,
            worker(settings, self.temporal, self.database, self.port, stops, planner, tools),
            asyncio.timeout(LONGEST),
            beside(stops.run(), *([sweeper.run()] if (self.swept if swept is None else swept) else [])),
        ):
            yield


async def reached(path: Path, suffix: str = ".reached") -> None:
    """Wait until a scripted hold (or a command) has made its file."""
    async with asyncio.timeout(PATIENCE):
        while not path.with_name(path.name + suffix).exists():
            await asyncio.sleep(0.02)


def calls(transcript: Transcript) -> list[ToolPart]:
    """The calls of a transcript, in order."""
    answers = [message for message in transcript if isinstance(message, AssistantMessage)]
    return [part for answer in answers for part in answer.parts if isinstance(part, ToolPart)]


def failed_tasks(history: WorkflowHistory) -> list[str]:
    """Why workflow tasks of a run failed; that a signal raced with its end, or that an operator has terminated or reset
    it, is no reason."""
    harmless = (
        WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND,
        WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND,
        WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW,
    )
    failed = [event for event in history.events if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED]
    attributes = [event.workflow_task_failed_event_attributes for event in failed]
    return [str(each.failure.message) for each in attributes if each.cause not in harmless]


@asynccontextmanager
async def house(
    settings: Settings,
    endpoints: Endpoints,
    temporal: Client,
    port: ModelPort,
    scripts: Script | Mapping[str, Script],
    directory: Path,
) -> AsyncIterator[House]:
    """A house without a worker: `House.working` adds one."""
    project = directory / "project"
    project.mkdir()
    config = directory / ".config" / "opencode"
    config.mkdir(parents=True)
    async with serve(scripts) as model, Database(endpoints.postgres_url) as database:
        provider = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": model.url, "apiKey": "test-key"}}
        (config / "opencode.json").write_text(json.dumps({"provider": {"scripted": provider}}))
        environment = {**settings.environment, "HOME": str(directory)}
        own = settings.model_copy(
            update={
                "home": directory / "home",
                "config": config,
                "environment": environment,
                "idle_seconds": 2.0,
            }
        )
        async with SessionClient(own, endpoints, ACTOR) as client:
            yield House(own, endpoints, database, temporal, client, port, model, project)
