"""Builds the worker."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from importlib.metadata import version
from typing import Any, Final

from temporalio.client import Client
from temporalio.converter import SerializationContext, StorageDriverStoreContext
from temporalio.worker import PollerBehaviorAutoscaling, Worker, WorkflowInstance, WorkflowInstanceDetails
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions
from temporalio.workflow import Info

from activities.caller_check import CallerCheckInterceptor
from activities.calls.description import CallDescriber, describe_fully, describe_nothing
from activities.calls.effect import CallEffects
from activities.calls.planner.planner import Planner
from activities.calls.run import ToolActivities
from activities.calls.subagent import Deliver
from activities.credentials.keys import Keys
from activities.error_boundary import ErrorBoundaryInterceptor
from activities.mcp.connections import McpConnections
from activities.model.answer import AnswerStream
from activities.model.ask_aside import AsideAsker
from activities.model.attempt import Attempts
from activities.model.compact import Compactor
from activities.model.default_model import DefaultModels
from activities.model.endpoints import EndpointResolver
from activities.model.generate import Model
from activities.model.model_table import ModelTables
from activities.model.port import ModelPort
from activities.model.retry_budget import RetryBudget
from activities.session.asks import AskActivities
from activities.session.open_turn import ProjectActivities
from activities.session.overflows import OverflowActivities
from activities.session.scheduled_prompts import ScheduleActivities
from activities.session.turns import TurnActivities
from activities.stop_interceptor import StopInterceptor
from activities.store.database import Database
from activities.tools.registry import TOOLS
from activities.tools.tool import Toolsets
from activities.turn_tools import TurnTools
from activities.web.web_access import WebAccess
from activities.web.web_fetcher import Network
from worker.credential_handoff import CredentialEnvironment
from worker.machine_id import machine_id
from worker.outbox import SignalSender, queue
from worker.project_config import project_loader
from worker.redaction import redactor
from worker.release import installed_release
from worker.settings import Settings, SummaryDetail
from workflows.aside import AsideWorkflow
from workflows.domain.value import build_models
from workflows.scheduled import ScheduledWorkflow
from workflows.session import SessionWorkflow

PASSED_THROUGH: Final = ("activities", "workflows.domain", "prompts", "pydantic", "pydantic_core", "opentelemetry")
WORKFLOWS: Final = (SessionWorkflow, AsideWorkflow, ScheduledWorkflow)
NETWORK: Final = Network()
_POLLERS: Final = PollerBehaviorAutoscaling()  # 12.7 steps/s with 20 sessions; five fixed pollers: 10.8
_WORKFLOW_TASKS: Final = 64  # a quick tool occupies a slot while it runs
# Waiting model calls must not starve tools; but of many that begin at once, a busy server tells the last so late that
# the time of their first heartbeat is over, and they are asked twice (with 200: up to 27 of 800 answers).
_ACTIVITIES: Final = 100
_ASIDE_SECONDS: Final = 300.0  # for all failures of a provider at what nothing waits for
_EAGER: Final = 16  # parallel calls of a step, started without a round trip


class Sandbox(SandboxedWorkflowRunner):
    """Runs workflows in the engine's sandbox."""

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        return _Instance(super().create_instance(det))


class _Instance(WorkflowInstance):
    """Skips the SDK's serialization-context lookup per payload.

    It looks three times per value, in and out, compiling and entering the sandbox each time: a tenth of a worker's
    time. Our converter ignores the context.
    """

    def __init__(self, inside: WorkflowInstance) -> None:
        self._inside = inside
        self._stored_for = StorageDriverStoreContext(target=None)

    def activate(self, act: Any) -> Any:
        return self._inside.activate(act)

    def get_serialization_context(self, command_info: Any) -> SerializationContext | None:
        return None

    def get_external_store_context(self, command_info: Any) -> StorageDriverStoreContext:
        return self._stored_for

    def get_info(self) -> Info:
        return self._inside.get_info()

    def get_thread_id(self) -> int | None:
        return self._inside.get_thread_id()


def workflow_runner() -> Sandbox:
    """Our packages pass through the sandbox, or their classes would exist twice (temporal.md 8).

    Values are built outside: inside, pydantic would import its dependencies again.
    """
    build_models("workflows")
    return Sandbox(restrictions=SandboxRestrictions.default.with_passthrough_modules(*PASSED_THROUGH))


def build_activities(
    settings: Settings,
    database: Database,
    port: ModelPort,
    deliver: Deliver,
    planner: Planner | None = None,
    connections: McpConnections | None = None,
    toolsets: Toolsets | None = None,
    network: Network = NETWORK,
) -> Sequence[Callable[..., Any]]:
    environment = CredentialEnvironment(settings)
    loader = replace(project_loader(settings, environment), fetches=True)
    toolsets = toolsets or TurnTools(TOOLS, connections)
    keys = Keys(settings.auth)
    web = WebAccess(keys, environment, network)
    effects = CallEffects(database, loader, toolsets, machine_id(settings.home), deliver, web, planner)
    default_models = DefaultModels(keys, environment, ModelTables(settings.models_file))
    endpoints = EndpointResolver(keys, environment, port, default_models.newest)
    describe = call_describer(settings)
    release, answers = str(installed_release()), AnswerStream(port)
    budget = RetryBudget(total_seconds=settings.retry_budget_seconds, first_pause=settings.retry_seconds)
    attempts = Attempts(database, redactor(settings), budget, release)
    brief = RetryBudget(total_seconds=_ASIDE_SECONDS, first_pause=settings.retry_seconds)
    aside_attempts = Attempts(database, redactor(settings), brief, release)
    model = Model(attempts, answers, endpoints, loader, toolsets, describe, planner)
    calls, turns = ToolActivities(database, effects), TurnActivities(database, effects)
    asides = AsideAsker(aside_attempts, answers, endpoints, model.views.transcripts)
    return [
        ProjectActivities(database, loader, describe, default_models, connections).load,
        model.generate,
        Compactor(attempts, answers, endpoints, model.views.transcripts).compact,
        asides.title,
        asides.summarize,
        AskActivities(database).open,
        calls.run,
        calls.refuse,
        turns.close,
        ScheduleActivities(database, deliver).fire,
        OverflowActivities(database).outgrow,
    ]


def call_describer(settings: Settings) -> CallDescriber:
    return describe_fully(redactor(settings)) if settings.summaries is SummaryDetail.FULL else describe_nothing


def build_worker(
    settings: Settings,
    client: Client,
    database: Database,
    port: ModelPort,
    stops: StopInterceptor,
    planner: Planner | None = None,
    connections: McpConnections | None = None,
    toolsets: Toolsets | None = None,
    network: Network = NETWORK,
) -> Worker:
    """A worker for our host's sessions, not started; `stops` watches what runs in it, `planner` checks what is slow,
    `connections` are its servers of tools (None: it has none)."""
    heartbeat = settings.heartbeat_seconds
    deliver = SignalSender(database, client, settings).send
    return Worker(
        client,
        task_queue=queue(settings.task_queue, settings.host),
        workflows=WORKFLOWS,
        activities=build_activities(settings, database, port, deliver, planner, connections, toolsets, network),
        workflow_runner=workflow_runner(),
        interceptors=[ErrorBoundaryInterceptor(redactor(settings)), CallerCheckInterceptor(database), stops],
        build_id=version("holdfast"),  # else the SDK hashes all loaded modules: seconds
        workflow_task_poller_behavior=_POLLERS,
        activity_task_poller_behavior=_POLLERS,
        max_concurrent_workflow_tasks=_WORKFLOW_TASKS,
        max_concurrent_activities=_ACTIVITIES,
        max_eager_activity_reservations_per_workflow_task=_EAGER,
        sticky_queue_schedule_to_start_timeout=settings.sticky_timeout,
        max_heartbeat_throttle_interval=timedelta(seconds=min(0.5, heartbeat / 3)),
        default_heartbeat_throttle_interval=timedelta(seconds=min(0.5, heartbeat / 3)),
        graceful_shutdown_timeout=timedelta(seconds=settings.drain_seconds),
    )
