"""One trial of the matrix: the moment, the fault, the recovery, the verdict."""

import asyncio
import traceback
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from activities.cancellation import cancel_and_wait
from tests.acceptance.matrix import failure_evidence
from tests.acceptance.matrix.fault_injection import inject_fault
from tests.acceptance.matrix.fault_scenarios import SCENES, FaultScenario
from tests.acceptance.matrix.lane import Lane
from tests.acceptance.matrix.session_ends import SessionEnd, differences, end_of
from tests.acceptance.matrix.trial_plan import TrialPlan
from tests.acceptance.matrix.trial_watcher import watching
from tests.acceptance.trial import Trial
from workflows.domain.events.event import EventRecord
from workflows.domain.ids import SessionId


class FaultNotFired(Exception):
    """The session ended without reaching the moment."""


@dataclass(frozen=True)
class TrialResult:
    """A trial's result: `problems` are empty if it passed; `recovery` is in seconds."""

    plan: TrialPlan
    fired: bool
    problems: Sequence[str] = ()
    recovery: float | None = None


async def run(lane: Lane, plan: TrialPlan, directory: Path) -> TrialResult:
    """Carry a plan out in its own directory; the undisturbed run comes first, once."""
    scenario = SCENES[plan.point](plan.variant, directory)
    key = (plan.point.value, scenario.course)
    if key not in lane.ends:
        calm = directory / "undisturbed"
        calm.mkdir()
        lane.ends[key] = await undisturbed(lane, SCENES[plan.point](plan.variant, calm), plan.undisturbed(), calm)
    try:
        return await disturbed(lane, scenario, plan, directory, lane.ends[key])
    except FaultNotFired:
        return TrialResult(plan, fired=False)


async def undisturbed(lane: Lane, scenario: FaultScenario, plan: TrialPlan, directory: Path) -> SessionEnd:
    """The session's end without a fault."""
    async with lane.trial(scenario.scripts, directory, scenario.limits) as trial:
        session = await begin(trial, scenario, plan)
        await reach_moment(trial, session, scenario.reach(trial, session))
        await scenario.leave(trial, session)
        await scenario.finish(trial, session)
        await trial.harness.ended(session)
        await trial.assert_no_violations()
        return await end_of(trial, session)


async def disturbed(
    lane: Lane, scenario: FaultScenario, plan: TrialPlan, directory: Path, expected: SessionEnd
) -> TrialResult:
    """Its end with the fault."""
    async with lane.trial(scenario.scripts, directory, scenario.limits) as trial:
        trial.wasted = scenario.wasted
        try:
            result = await judge(lane, trial, scenario, plan, expected)
        except FaultNotFired:
            raise
        except Exception:  # any error is this trial's failure
            result = TrialResult(plan, fired=True, problems=[traceback.format_exc()])
        if result.problems:
            await failure_evidence.keep(trial, plan, result.problems)
        return result


async def judge(
    lane: Lane, trial: Trial, scenario: FaultScenario, plan: TrialPlan, expected: SessionEnd
) -> TrialResult:
    """Play the scenario with its fault, and compare."""
    session = await begin(trial, scenario, plan)
    async with watching(trial, session) as watcher:
        await reach_moment(trial, session, scenario.reach(trial, session))
        healed = await inject_and_recover(lane, trial, session, scenario, plan)
        await scenario.finish(trial, session)
        await trial.harness.ended(session)
        found = await watcher.complaint((await trial.harness.client.sessions.get(session)).seq)
    found += [f"{each.invariant}: {each.what}" for each in await trial.verdict()]
    found += differences(expected, await end_of(trial, session))
    moments = [datetime.fromisoformat(record.at) for record in await logged(trial)]
    return TrialResult(plan, fired=True, problems=found, recovery=recovery(moments, healed))


async def begin(trial: Trial, scenario: FaultScenario, plan: TrialPlan) -> SessionId:
    if scenario.config:
        trial.harness.configure(**scenario.config)
    for _ in range(plan.workers):
        await trial.worker(scenario.faults)
    return await trial.start_session("Do it.")


async def reach_moment(trial: Trial, session: SessionId, reaching: Coroutine[Any, Any, None]) -> None:
    """Wait for the moment. Raises FaultNotFired when the turn ends before it."""
    moment, end = asyncio.ensure_future(reaching), asyncio.ensure_future(trial.harness.ended(session))
    done, waiting = await asyncio.wait((moment, end), return_when=asyncio.FIRST_COMPLETED)
    await cancel_and_wait(*waiting)
    if moment not in done:
        raise FaultNotFired
    moment.result()


async def inject_and_recover(
    lane: Lane, trial: Trial, session: SessionId, scenario: FaultScenario, plan: TrialPlan
) -> datetime:
    """Inject the fault; the time at which everything is back and the session may go on."""
    async with asyncio.TaskGroup() as group:
        async with inject_fault(lane.settings, trial, plan):
            if plan.early:
                group.create_task(scenario.leave(trial, session))
                await asyncio.sleep(0)  # it has begun before anything comes back
        if plan.fault is not None:
            await trial.reconnect()
        trial.healed.append(datetime.now(UTC))
        if not plan.early:
            group.create_task(scenario.leave(trial, session))
    return datetime.now(UTC)


async def logged(trial: Trial) -> list[EventRecord]:
    """The events of all sessions of a trial."""
    client = trial.harness.client
    return [seen.record for each in await client.sessions.list_recent() async for seen in client.records.log(each.id)]


def recovery(moments: Sequence[datetime], healed: datetime) -> float | None:
    """Seconds until a session has gone on; None if nothing was left to do."""
    later = [at for at in moments if at > healed]
    return (min(later) - healed).total_seconds() if later else None
