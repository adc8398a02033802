"""Kills what a plan names; at the end of the block it is back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import psutil

from tests.acceptance import stack_parts
from tests.acceptance.matrix.cells import CellFault
from tests.acceptance.matrix.trial_plan import TrialPlan
from tests.acceptance.trial import Trial
from tests.polling import wait_until
from worker.settings import Settings
from worker.stack.state_file import PartName
from worker.stack.status import status
from worker.stack.up import up

SERVERS: Final = (PartName.POSTGRES, PartName.TEMPORAL)


@asynccontextmanager
async def inject_fault(settings: Settings, trial: Trial, plan: TrialPlan) -> AsyncIterator[None]:
    """Kill, and wait for a new serving process. `settings` are the stack's."""
    match plan.fault:
        case CellFault.WORKER:
            await plan.dice.choice(trial.workers).kill()
            yield
            await trial.worker()
        case CellFault.TEMPORAL:
            async with server_down(settings, PartName.TEMPORAL):
                yield
        case CellFault.POSTGRES:
            async with server_down(settings, PartName.POSTGRES):
                yield
        case CellFault.ALL:
            async with stack_down(settings, trial, plan):
                yield
            await trial.worker()
        case None:
            yield


@asynccontextmanager
async def server_down(settings: Settings, name: PartName) -> AsyncIterator[None]:
    """Kill a server, and wait at the end for its restart by the supervisor."""
    before = pid(settings, name)
    async with stack_parts.kept_down(settings, name):
        yield
    await wait_for_restart(settings, name, before)


@asynccontextmanager
async def stack_down(settings: Settings, trial: Trial, plan: TrialPlan) -> AsyncIterator[None]:
    """Kill the workers and both servers, and the supervisor if the plan says so."""
    before = {name: pid(settings, name) for name in SERVERS}
    supervisor = stack_parts.supervisor(settings)
    victims = [each for name in SERVERS for each in stack_parts.part(settings, name)]
    victims += [worker.process for worker in trial.workers]
    plan.dice.shuffle(victims)
    supervisor.suspend()
    try:
        await stack_parts.kill(*([supervisor] if plan.supervisor else []), *victims)
        for worker in trial.workers:
            await worker.killed()
        yield
    finally:
        await revive(settings, supervisor)
    for name, former in before.items():
        await wait_for_restart(settings, name, former)


async def revive(settings: Settings, supervisor: psutil.Process) -> None:
    """Let the supervisor go on, or start a new one, as the next command would."""
    if stack_parts.gone(supervisor):
        await up(settings, lambda _: None, worker=False)
    else:
        supervisor.resume()


def pid(settings: Settings, name: PartName) -> int:
    """The process of a serving server: only that can be killed."""
    (found,) = [each for each in status(settings).parts if each.name == name]
    assert found.pid is not None and found.serving, f"{name} does not serve"
    return found.pid


async def wait_for_restart(settings: Settings, name: PartName, former: int) -> None:
    """Wait for another process than `former`."""

    def replaced() -> bool:
        return any(each.name == name and each.serving and each.pid != former for each in status(settings).parts)

    await wait_until(replaced)
