"""One trial of the matrix: the moment, the fault, the recovery, the verdict."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from activities.cancellation import cancel_and_wait
from tests.acceptance.campaign import fault_result, undisturbed_outline
from tests.acceptance.fault_counts import FaultResult
from tests.acceptance.matrix.fault_scenarios import SCENARIOS, FaultScenario
from tests.acceptance.matrix.trial_plan import CellFault, TrialPlan
from tests.acceptance.session_listener import SessionListener, listening
from tests.acceptance.stack_parts import servers_down
from tests.acceptance.stacks import OwnStack
from tests.acceptance.trial import Trial
from worker.stack.state_file import PartName
from workflows.domain.ids import SessionId


@dataclass(frozen=True)
class MatrixTrials:
    """The trials on one stack, with the outlines of their undisturbed runs."""

    stack: OwnStack
    outlines: dict[tuple[str, int], list[str]] = field(default_factory=dict)

    async def run(self, plan: TrialPlan, directory: Path) -> FaultResult:
        """Carry a plan out; the undisturbed run comes first, once."""
        scenario = SCENARIOS[plan.point](plan.variant, directory)
        key = (plan.point.value, scenario.course)
        if key not in self.outlines:
            self.outlines[key] = await self.undisturbed(plan.undisturbed(), directory / "undisturbed")
        async with self.stack.trial(scenario.scripts, directory, **scenario.limits) as trial:
            trial.wasted = scenario.wasted
            session = await begin(trial, scenario, plan)
            async with trial.another_person("watcher") as watcher, listening(watcher.client, session) as listener:
                if not await reaches_moment(trial, session, scenario):
                    return FaultResult(fired=False)
                healed = await inject_and_recover(self.stack, trial, session, scenario, plan)
                await scenario.finish(trial, session)
                await trial.harness.ended(session)
                overview = await trial.harness.client.sessions.get(session)
                missed = await missed_events(listener, session, overview.seq)
            return await fault_result(trial, self.outlines[key], seen=missed, healed=healed)

    async def undisturbed(self, plan: TrialPlan, directory: Path) -> list[str]:
        """The outline of the scenario without a fault."""
        scenario = SCENARIOS[plan.point](plan.variant, directory)
        async with self.stack.trial(scenario.scripts, directory, **scenario.limits) as trial:
            session = await begin(trial, scenario, plan)
            assert await reaches_moment(trial, session, scenario), "the moment was never there"
            await scenario.leave(trial, session)
            await scenario.finish(trial, session)
            await trial.harness.ended(session)
            return await undisturbed_outline(trial)


async def begin(trial: Trial, scenario: FaultScenario, plan: TrialPlan) -> SessionId:
    if scenario.config:
        trial.harness.configure(**scenario.config)
    if scenario.person:
        trial.harness.configure_person(**scenario.person)
    for _ in range(plan.workers):
        await trial.worker(scenario.faults)
    return await trial.start_session("Do it.")


async def reaches_moment(trial: Trial, session: SessionId, scenario: FaultScenario) -> bool:
    """Wait for the moment; whether it comes before the end of the turn."""
    moment = asyncio.create_task(scenario.reach(trial, session))
    end = asyncio.create_task(trial.harness.ended(session))
    await asyncio.wait((moment, end), return_when=asyncio.FIRST_COMPLETED)
    reached = moment.done()
    await cancel_and_wait(moment, end)
    if reached:
        moment.result()
    return reached


async def inject_and_recover(
    stack: OwnStack, trial: Trial, session: SessionId, scenario: FaultScenario, plan: TrialPlan
) -> datetime:
    """Inject the fault; the time at which everything is back and the session may go on."""
    async with asyncio.TaskGroup() as group:
        async with inject_fault(stack, trial, plan):
            if plan.early:
                group.create_task(scenario.leave(trial, session))
                await asyncio.sleep(0)  # it has begun before anything comes back
        await trial.reconnect()
        trial.healed.append(datetime.now(UTC))
        if not plan.early:
            group.create_task(scenario.leave(trial, session))
    return datetime.now(UTC)


@asynccontextmanager
async def inject_fault(stack: OwnStack, trial: Trial, plan: TrialPlan) -> AsyncIterator[None]:
    """Kill; after the block, wait until everything serves again."""
    match plan.fault:
        case CellFault.WORKER:
            await plan.dice.choice(trial.workers).kill()
            yield
            await trial.worker()
        case CellFault.TEMPORAL | CellFault.POSTGRES:
            async with servers_down(stack.settings, PartName(plan.fault)):
                yield
        case CellFault.ALL:
            processes = [worker.process for worker in trial.workers]
            async with servers_down(
                stack.settings,
                *(PartName.POSTGRES, PartName.TEMPORAL),
                with_them=processes,
                supervisor_too=plan.supervisor,
                order=plan.dice,
            ):
                for worker in trial.workers:
                    await worker.killed()
                yield
            await trial.worker()


async def missed_events(listener: SessionListener, session: SessionId, last: int) -> list[str]:
    """What is wrong with the received events of a log that ends with `last`: each must come once, in order."""
    try:
        await listener.until(lambda each: last in each.numbers[session])
    except TimeoutError:
        return [f"the watcher got these events of a log that goes to {last}: {listener.numbers[session]}"]
    return [] if listener.in_order else [f"the watcher got these events: {dict(listener.numbers)}"]
