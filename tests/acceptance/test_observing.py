"""An observed worker: metrics are scraped, spans collected, and the dashboard names existing metrics."""

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from temporalio.api.enums.v1 import EventType

from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import DONE
from tests.acceptance.trial import Trial
from tests.acceptance.workers import WorkerProcess, environment
from tests.polling import attempts, wait_until
from tests.port_pairs import adjacent_free_ports
from worker.scripted.script import ScriptedAnswer, ScriptedCall, ScriptedUsage
from worker.stack.ports import LOOPBACK

TIMED_OUT = EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT
DASHBOARD = Path(__file__).parents[2] / "docs" / "deploy" / "dashboard.json"
WRITE = ScriptedAnswer(
    tools=(ScriptedCall(name="write", arguments={"filePath": "a.txt", "content": "secret words"}),),
    usage=ScriptedUsage(input=100, output=20, reasoning=5, cached=40),
)


@dataclass
class Collector:
    """An OpenTelemetry collector, as a worker sees it."""

    spans: list[Span] = field(default_factory=list)

    async def take(self, request: web.Request) -> web.Response:
        told = ExportTraceServiceRequest.FromString(await request.read())
        self.spans += [span for each in told.resource_spans for scope in each.scope_spans for span in scope.spans]
        return web.Response()


@asynccontextmanager
async def collecting() -> AsyncIterator[tuple[Collector, int]]:
    """A collector, and its port."""
    collector, app = Collector(), web.Application()
    app.router.add_post("/v1/traces", collector.take)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, LOOPBACK, 0).start()
    try:
        yield collector, runner.addresses[0][1]
    finally:
        await runner.cleanup()


@asynccontextmanager
async def observed(trial: Trial, metrics: int, traces: int = 0) -> AsyncIterator[WorkerProcess]:
    """A worker process with both settings, terminated with the block."""
    more = {
        "HOLDFAST_METRICS_PORT": str(metrics),
        "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
    }
    if traces:
        more["HOLDFAST_TRACES_ENDPOINT"] = f"http://127.0.0.1:{traces}/v1/traces"
    own = environment(trial.harness.settings, trial.harness.endpoints, trial.directory, "") | more
    worker = await trial.fork_server.start(own, trial.directory / "worker.log")
    try:
        yield worker
    finally:
        worker.process.terminate()
        await wait_until(lambda: worker.ended)


async def scraped(port: int) -> dict[str, float]:
    """All series with their labels."""
    async with httpx.AsyncClient(trust_env=False) as client:
        text = (await client.get(f"http://127.0.0.1:{port}/metrics")).text
    lines = [line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, value in lines}


def named() -> set[str]:
    """The metrics in the dashboard's panels."""
    board = json.loads(DASHBOARD.read_text())
    asked = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    return {name for expr in asked for name in re.findall(r"\b(?:holdfast|temporal)_\w+", expr)}


async def test_a_session_shows_in_metrics_and_traces_and_the_dashboard_names_what_is_there(
    open_unjudged: Open,
) -> None:
    metrics, sdk = adjacent_free_ports()
    async with open_unjudged(WRITE, DONE) as trial, collecting() as (collector, traces):
        trial.harness.configure(permission={"edit": "ask"})
        async with observed(trial, metrics, traces):
            session = await trial.harness.start_session("Write it.")
            (ask,) = await trial.harness.wait_for_asks(session)
            async for _ in attempts():
                if (await scraped(metrics)).get("holdfast_asks_open") == 1:
                    break
            await trial.harness.answer(ask)
            await trial.harness.ended(session)
            ours, theirs = await scraped(metrics), await scraped(sdk)
    attributes = [{each.key: each.value for each in span.attributes} for span in collector.spans]
    sessions = {each["holdfast.session"].string_value for each in attributes if "holdfast.session" in each}
    told = str(collector.spans)

    assert ours["holdfast_steps_total"] == 2 and ours['holdfast_calls_total{state="done"}'] == 1
    assert ours['holdfast_tokens_total{kind="cache_read"}'] == 40 and ours["holdfast_asks_total"] == 1
    assert (ours["holdfast_cost_dollars_total"], ours["holdfast_steps_unpriced_total"]) == (0, 2)
    assert not [name for name in ours if session in name]
    assert named() <= {name.partition("{")[0] for name in (*ours, *theirs)}
    assert sessions == {session} and {"holdfast.turn", "holdfast.call", "holdfast.step"} <= set().union(*attributes)
    assert {"RunActivity:holdfast.model.generate", "RunActivity:holdfast.tools.run"} <= {
        s.name for s in collector.spans
    }
    assert "secret words" not in told and "Write it." not in told


def counted(series: Mapping[str, float], name: str, label: str = "") -> float:
    return sum(value for key, value in series.items() if key.partition("{")[0] == name and label in key)


def replayed(series: Mapping[str, float]) -> float:
    """Workflow tasks that came with the whole history."""
    polled = counted(series, "temporal_workflow_task_queue_poll_succeed_total")
    return polled - counted(series, "temporal_sticky_cache_hit_total")


async def test_workflow_tasks_that_time_out_show_in_the_metrics_of_the_sdk(open_unjudged: Open) -> None:
    metrics, sdk = adjacent_free_ports()
    async with open_unjudged(WRITE, DONE) as trial:
        harness = trial.harness
        harness.configure(permission={"edit": "ask"})
        async with observed(trial, metrics) as worker:
            session = await harness.start_session("Write it.")
            (ask,) = await harness.wait_for_asks(session)
            before = await scraped(sdk)
            await worker.freeze()
            await harness.answer(ask)
            async for _ in attempts():
                if any(each.event_type == TIMED_OUT for each in (await harness.history(session)).events):
                    break
            worker.wake()
            await harness.ended(session)
            after = await scraped(sdk)
    assert replayed(before) == 1 and replayed(after) > 1  # a run's first task does, too
    assert counted(after, "temporal_request_failure_total", 'operation="RespondWorkflowTaskCompleted"') == 1
