"""What makes a worker: which workflows and activities, what passes through the sandbox, how many of each at once."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from importlib.metadata import version
from typing import Any, Final

from temporalio.client import Client
from temporalio.worker import PollerBehaviorAutoscaling, Worker
from temporalio.worker.workflow_sandbox import SandboxRestrictions

from activities.callers import Callers
from activities.edge import Edge
from activities.model.endpoints import Endpoints
from activities.model.generate import Model
from activities.model.keys import Keys
from activities.model.patience import Patience
from activities.model.port import ModelPort
from activities.session.asks import Asks
from activities.session.children import Ring
from activities.session.describing import Describe, in_full, nothing
from activities.session.project import Project
from activities.session.turns import Turns
from activities.stopping import StopWatch
from activities.store.database import Database
from activities.tools.planner.planner import Planner
from activities.tools.run import Tools
from activities.tools.table import TOOLS
from activities.tools.tool import Tool
from activities.tools.workshop import Workshop
from worker.bells import Bells, queue
from worker.handover import HandedOver
from worker.machine import machine
from worker.redacting import redactor
from worker.sandbox import Sandbox
from worker.settings import Detail, Settings
from worker.survey import surveyor
from workflows.domain.value import build_all
from workflows.session import SessionWorkflow

PASSED_THROUGH: Final = ("activities", "workflows.domain", "prompts", "pydantic", "pydantic_core", "opentelemetry")
_POLLERS: Final = PollerBehaviorAutoscaling()  # 12.7 steps/s with 20 sessions, where five fixed ones had 10.8
_WORKFLOW_TASKS: Final = 64  # each stays taken while a quick tool runs as a part of it
_ACTIVITIES: Final = 200  # waiting model calls must not starve tools
_EAGER: Final = 16  # as many parallel calls of a step as start without a detour over the server


def runner() -> Sandbox:
    """The workflow sandbox; both of our packages pass, or their classes would exist twice (temporal.md 8).

    All values are built before: inside, pydantic would import a second copy of what it needs for that.
    """
    build_all()
    return Sandbox(restrictions=SandboxRestrictions.default.with_passthrough_modules(*PASSED_THROUGH))


def activities(
    settings: Settings,
    database: Database,
    port: ModelPort,
    ring: Ring,
    planner: Planner | None = None,
    tools: Mapping[str, Tool[Any]] = TOOLS,
) -> Sequence[Callable[..., Any]]:
    """All activities, with what they need."""
    handed_over = HandedOver(settings)
    looking = surveyor(settings, handed_over)
    workshop = Workshop(database, looking, tools, machine(settings.home), ring, planner)
    endpoints = Endpoints(Keys(settings.auth), handed_over, port)
    describe = describing(settings)
    secrets = redactor(settings)
    patience = Patience(total=settings.patience_seconds, first=settings.retry_seconds)
    model = Model(database, port, endpoints, looking, tools, describe, secrets, patience, planner)
    calls, turns = Tools(database, workshop), Turns(database, workshop)
    return [
        Project(database, looking, describe).load,
        model.generate,
        Asks(database).open,
        calls.run,
        calls.refuse,
        turns.close,
    ]


def describing(settings: Settings) -> Describe:
    """What Temporal's UI may say of calls."""
    return in_full(redactor(settings)) if settings.summaries is Detail.FULL else nothing


def worker(
    settings: Settings,
    client: Client,
    database: Database,
    port: ModelPort,
    stops: StopWatch,
    planner: Planner | None = None,
    tools: Mapping[str, Tool[Any]] = TOOLS,
) -> Worker:
    """A worker for the sessions of our host, not started; `stops` watches what runs in it, `planner` checks what may
    take long, `tools` is what models may call."""
    heartbeat = settings.heartbeat_seconds
    return Worker(
        client,
        task_queue=queue(settings.task_queue, settings.host),
        workflows=[SessionWorkflow],
        activities=activities(settings, database, port, Bells(database, client, settings).ring, planner, tools),
        workflow_runner=runner(),
        interceptors=[Edge(redactor(settings)), Callers(), stops],
        build_id=version("holdfast"),  # else the SDK compiles and hashes every loaded module: seconds of each start
        workflow_task_poller_behavior=_POLLERS,
        activity_task_poller_behavior=_POLLERS,
        max_concurrent_workflow_tasks=_WORKFLOW_TASKS,
        max_concurrent_activities=_ACTIVITIES,
        max_eager_activity_reservations_per_workflow_task=_EAGER,
        sticky_queue_schedule_to_start_timeout=timedelta(seconds=settings.sticky_seconds),
        max_heartbeat_throttle_interval=timedelta(seconds=min(0.5, heartbeat / 3)),
        default_heartbeat_throttle_interval=timedelta(seconds=min(0.5, heartbeat / 3)),
        graceful_shutdown_timeout=timedelta(seconds=settings.drain_seconds),
    )
