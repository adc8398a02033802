"""The floor: what a step costs on bare Temporal, with the same server, the same worker options and the same requests.

One activity streams the answer, one reads the file that it names: no database, no permissions, no log. The second one
may be a local activity, as a quick call of ours is.
"""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import httpx
from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import PollerBehaviorAutoscaling, Worker
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from worker.connect import connect
from worker.exit_process import exit_process
from worker.settings import Settings
from worker.stack.state_file import Endpoints
from workflows.domain.value import Value

WORKFLOW: Final = "bench.floor"
_PASSED_THROUGH: Final = ("bench", "worker", "workflows.domain", "httpx", "pydantic", "pydantic_core")
_TIMEOUT: Final = timedelta(seconds=60)


class RequestTemplate(Value):
    """The floor's requests: those of a real session of two steps, the second repeated."""

    url: str
    directory: Path
    body: dict[str, Any]

    def request(self, script: str, step: int) -> dict[str, Any]:
        system, user, *rest = self.body["messages"]
        begun, exchange = rest[:2], rest[2:]
        steps = [*begun, *exchange * (step - 1)] if step else []
        return {**self.body, "messages": [system, {**user, "content": prompt(script)}, *steps]}


class StepInput(Value):
    """`local`: the file is read within the workflow task."""

    script: str
    step: int = 0
    local: bool = False


class ReadCall(Value):
    """The answer's call: a file to read, or none."""

    path: str | None = None


def prompt(script: str) -> str:
    """The prompt that starts a script on both sides."""
    return f"[[script:{script}]] Read the notes."


class Activities:
    def __init__(self, client: httpx.AsyncClient, template: RequestTemplate) -> None:
        self.client = client
        self.template = template

    @activity.defn(name="bench.generate")
    async def generate(self, ask: StepInput) -> ReadCall:
        """Stream an answer and assemble its call."""
        asked = self.template.request(ask.script, ask.step)
        async with self.client.stream("POST", f"{self.template.url}/chat/completions", json=asked) as response:
            response.raise_for_status()
            arguments = "".join([piece async for piece in _arguments(response)])
        return ReadCall(path=json.loads(arguments)["filePath"]) if arguments else ReadCall()

    @activity.defn(name="bench.read")
    async def read(self, called: ReadCall) -> ReadCall:
        """Read the file; its content is dropped, as it would fill the history."""
        await asyncio.to_thread((self.template.directory / str(called.path)).read_text)
        return ReadCall()


async def _arguments(response: httpx.Response) -> AsyncIterator[str]:
    async for line in response.aiter_lines():
        data = line.removeprefix("data: ")
        if not data or data == "[DONE]":
            continue
        for choice in json.loads(data)["choices"]:
            for call in choice["delta"].get("tool_calls", ()):
                yield call["function"]["arguments"]


@workflow.defn(name=WORKFLOW)
class FloorWorkflow:
    """Steps until an answer has no call."""

    @workflow.run
    async def run(self, ask: StepInput) -> None:
        step = 0
        while True:
            asked = StepInput(script=ask.script, step=step)
            called = await workflow.execute_activity_method(Activities.generate, asked, start_to_close_timeout=_TIMEOUT)
            if called.path is None:
                return
            execute = workflow.execute_local_activity_method if ask.local else workflow.execute_activity_method
            await execute(Activities.read, called, start_to_close_timeout=_TIMEOUT)
            step += 1


def worker(settings: Settings, client: Client, activities: Activities, queue: str) -> Worker:
    """A worker with our worker's options (a test compares them), not started."""
    throttle = timedelta(seconds=min(0.5, settings.heartbeat_seconds / 3))
    restrictions = SandboxRestrictions.default.with_passthrough_modules(*_PASSED_THROUGH)
    return Worker(
        client,
        task_queue=queue,
        workflows=[FloorWorkflow],
        activities=[activities.generate, activities.read],
        workflow_runner=SandboxedWorkflowRunner(restrictions=restrictions),
        build_id=version("holdfast"),
        workflow_task_poller_behavior=PollerBehaviorAutoscaling(),
        activity_task_poller_behavior=PollerBehaviorAutoscaling(),
        max_concurrent_workflow_tasks=64,
        max_concurrent_activities=100,
        max_eager_activity_reservations_per_workflow_task=16,
        sticky_queue_schedule_to_start_timeout=settings.sticky_timeout,
        max_heartbeat_throttle_interval=throttle,
        default_heartbeat_throttle_interval=throttle,
        graceful_shutdown_timeout=timedelta(seconds=settings.drain_seconds),
    )


async def _work(address: str, template: RequestTemplate, queue: str) -> None:
    settings = Settings.read()
    client = await connect(settings, Endpoints(postgres_url="", temporal_address=address))
    async with (
        httpx.AsyncClient(trust_env=False, timeout=_TIMEOUT.total_seconds()) as http,
        worker(settings, client, Activities(http, template), queue),
    ):
        print(f"working on {queue!r}, pid {os.getpid()}", file=sys.stderr, flush=True)
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -P -m bench.floor", description=__doc__)
    parser.add_argument("--temporal", required=True, help="address of the server")
    parser.add_argument("--template", type=Path, required=True, help="JSON file: what to send, and where to")
    parser.add_argument("--queue", required=True, help="the task queue to work on")
    given = parser.parse_args()
    asyncio.run(_work(given.temporal, RequestTemplate.model_validate_json(given.template.read_bytes()), given.queue))
    exit_process(0)


if __name__ == "__main__":
    main()
