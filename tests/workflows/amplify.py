"""Amplifiers: one session with everything in it, and a worker that makes it harder."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from temporalio.worker import Worker

from tests.house import LONGEST, House, reached
from worker.assemble import activities, runner
from worker.bells import Bells
from workflows.domain.ids import SessionId
from workflows.session import SessionWorkflow


@asynccontextmanager
async def forgetful(house: House) -> AsyncIterator[None]:
    """A worker without a cache: every workflow task replays the whole history."""
    ringer = Bells(house.database, house.temporal, house.settings)
    without_cache = Worker(
        house.temporal,
        task_queue=house.settings.task_queue,
        workflows=[SessionWorkflow],
        activities=activities(house.settings, house.database, house.port, ringer.ring),
        workflow_runner=runner(),
        max_cached_workflows=0,
    )
    async with without_cache, asyncio.timeout(LONGEST):
        yield


async def whole(house: House, gate: Path) -> SessionId:
    """Parallel calls, a steered prompt, an ask with its answer, and a second turn that is stopped."""
    for name in ("a.txt", "b.txt", "c.txt"):
        house.file(name, name)
    house.configure(permission={"edit": "ask"})
    session = await house.say("Go.")
    await reached(gate)
    await house.client.prompt(session, "And this.")
    gate.touch()
    for ask in await house.asked(session):
        await house.answer(ask)
    await house.ended(session)
    gate.unlink()
    gate.with_name("gate.reached").unlink()
    await house.client.prompt(session, "Never mind.")
    await reached(gate)
    await house.client.stop(session)
    await house.ended(session, 2)
    return session
