"""A session with everything in it, and a worker that makes it harder."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from temporalio.worker import Worker

from tests.harness import WORKER_TIMEOUT, Harness, wait_for_file
from worker.assemble import build_activities, workflow_runner
from worker.outbox import SignalSender
from workflows.domain.ids import SessionId
from workflows.session import SessionWorkflow


@asynccontextmanager
async def worker_without_cache(harness: Harness) -> AsyncIterator[None]:
    """A worker without a cache: every workflow task replays the whole history."""
    sender = SignalSender(harness.database, harness.temporal, harness.settings)
    without_cache = Worker(
        harness.temporal,
        task_queue=harness.settings.task_queue,
        workflows=[SessionWorkflow],
        activities=build_activities(harness.settings, harness.database, harness.port, sender.send),
        workflow_runner=workflow_runner(),
        max_cached_workflows=0,
    )
    async with without_cache, asyncio.timeout(WORKER_TIMEOUT):
        yield


async def play_everything(harness: Harness, gate: Path) -> SessionId:
    """Parallel calls, a steered prompt, an ask with its answer, and a second turn that is stopped."""
    for name in ("a.txt", "b.txt", "c.txt"):
        harness.file(name, name)
    harness.configure(permission={"edit": "ask"})
    session = await harness.start_session("Go.")
    await wait_for_file(gate)
    await harness.client.prompt(session, "And this.")
    gate.touch()
    for ask in await harness.wait_for_asks(session):
        await harness.answer(ask)
    await harness.ended(session)
    gate.unlink()
    gate.with_name("gate.reached").unlink()
    await harness.client.prompt(session, "Never mind.")
    await wait_for_file(gate)
    await harness.client.stop(session)
    await harness.ended(session, 2)
    return session
