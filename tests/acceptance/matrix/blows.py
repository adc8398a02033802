"""Blows: what a plan names is killed for real, and is back at the end of the block."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import psutil

from tests.acceptance import parts
from tests.acceptance.matrix.cells import Fault
from tests.acceptance.matrix.plan import Plan
from tests.acceptance.trial import Trial
from tests.patience import appears
from worker.settings import Settings
from worker.stack.state import PartName
from worker.stack.status import status
from worker.stack.up import up

SERVERS: Final = (PartName.POSTGRES, PartName.TEMPORAL)


@asynccontextmanager
async def struck(settings: Settings, trial: Trial, plan: Plan) -> AsyncIterator[None]:
    """Kill, and see that what comes back is another process that serves. `settings` are those of the stack."""
    match plan.fault:
        case Fault.WORKER:
            await plan.dice.choice(trial.workers).kill()
            yield
            await trial.worker()
        case Fault.TEMPORAL:
            async with server_away(settings, PartName.TEMPORAL):
                yield
        case Fault.POSTGRES:
            async with server_away(settings, PartName.POSTGRES):
                yield
        case Fault.ALL:
            async with all_away(settings, trial, plan):
                yield
            await trial.worker()
        case None:
            yield


@asynccontextmanager
async def server_away(settings: Settings, name: PartName) -> AsyncIterator[None]:
    """Kill a server, and wait at the end until the supervisor has started it again."""
    before = pid(settings, name)
    async with parts.kept_away(settings, name):
        yield
    await back(settings, name, before)


@asynccontextmanager
async def all_away(settings: Settings, trial: Trial, plan: Plan) -> AsyncIterator[None]:
    """Kill the workers and both servers, and the supervisor too where the plan says so."""
    before = {name: pid(settings, name) for name in SERVERS}
    supervisor = parts.supervisor(settings)
    victims = [each for name in SERVERS for each in parts.part(settings, name)]
    victims += [worker.process for worker in trial.workers]
    plan.dice.shuffle(victims)
    supervisor.suspend()
    try:
        await parts.kill(*([supervisor] if plan.supervisor else []), *victims)
        for worker in trial.workers:
            await worker.killed()
        yield
    finally:
        await revive(settings, supervisor)
    for name, former in before.items():
        await back(settings, name, former)


async def revive(settings: Settings, supervisor: psutil.Process) -> None:
    """Let the supervisor go on, or have a new one, as the next command would."""
    if parts.gone(supervisor):
        await up(settings, lambda _: None, worker=False)
    else:
        supervisor.resume()


def pid(settings: Settings, name: PartName) -> int:
    """The process of a server that serves: only that can be killed."""
    (found,) = [each for each in status(settings).parts if each.name == name]
    assert found.pid is not None and found.serving, f"{name} does not serve"
    return found.pid


async def back(settings: Settings, name: PartName, former: int) -> None:
    """Wait until another process serves in the place of the former one."""

    def replaced() -> bool:
        return any(each.name == name and each.serving and each.pid != former for each in status(settings).parts)

    await appears(replaced)
