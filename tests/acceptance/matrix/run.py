"""One trial of the matrix: to the moment, the blow, what comes back, and the verdict."""

import asyncio
import traceback
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from activities.cancelling import ended
from tests.acceptance.matrix import evidence
from tests.acceptance.matrix.blows import struck
from tests.acceptance.matrix.ends import End, differences, end_of
from tests.acceptance.matrix.lane import Lane
from tests.acceptance.matrix.plan import Plan
from tests.acceptance.matrix.scenes import SCENES, Scene
from tests.acceptance.matrix.watching import watching
from tests.acceptance.trial import Trial
from workflows.domain.events import Record
from workflows.domain.ids import SessionId


class NotFired(Exception):
    """The session has come to its end, and never to the moment."""


@dataclass(frozen=True)
class Result:
    """How a trial has ended: `problems` are empty in one that has passed; `recovery` is in seconds."""

    plan: Plan
    fired: bool
    problems: Sequence[str] = ()
    recovery: float | None = None


async def run(lane: Lane, plan: Plan, directory: Path) -> Result:
    """Carry a plan out, in a directory of its own; the undisturbed run comes first, once."""
    scene = SCENES[plan.point](plan.variant, directory)
    key = (plan.point.value, scene.course)
    if key not in lane.ends:
        calm = directory / "undisturbed"
        calm.mkdir()
        lane.ends[key] = await undisturbed(lane, SCENES[plan.point](plan.variant, calm), plan.undisturbed(), calm)
    try:
        return await disturbed(lane, scene, plan, directory, lane.ends[key])
    except NotFired:
        return Result(plan, fired=False)


async def undisturbed(lane: Lane, scene: Scene, plan: Plan, directory: Path) -> End:
    """What the session comes to when nothing dies."""
    async with lane.trial(scene.scripts, directory, scene.limits) as trial:
        session = await begin(trial, scene, plan)
        await arrive(trial, session, scene.reach(trial, session))
        await scene.leave(trial, session)
        await scene.finish(trial, session)
        await trial.house.ended(session)
        await trial.passes()
        return await end_of(trial, session)


async def disturbed(lane: Lane, scene: Scene, plan: Plan, directory: Path, expected: End) -> Result:
    """What it comes to with the fault."""
    async with lane.trial(scene.scripts, directory, scene.limits) as trial:
        trial.wasted = scene.wasted
        try:
            result = await judged(lane, trial, scene, plan, expected)
        except NotFired:
            raise
        except Exception:  # whatever it is that went wrong, it went wrong in this trial
            result = Result(plan, fired=True, problems=[traceback.format_exc()])
        if result.problems:
            await evidence.keep(trial, plan, result.problems)
        return result


async def judged(lane: Lane, trial: Trial, scene: Scene, plan: Plan, expected: End) -> Result:
    """Play the scene with its fault, and compare."""
    session = await begin(trial, scene, plan)
    async with watching(trial, session) as watcher:
        await arrive(trial, session, scene.reach(trial, session))
        healed = await strike(lane, trial, session, scene, plan)
        await scene.finish(trial, session)
        await trial.house.ended(session)
        found = await watcher.complaint((await trial.house.client.session(session)).seq)
    found += [f"{each.invariant}: {each.what}" for each in await trial.verdict()]
    found += differences(expected, await end_of(trial, session))
    moments = [datetime.fromisoformat(record.at) for record in await logged(trial)]
    return Result(plan, fired=True, problems=found, recovery=recovery(moments, healed))


async def begin(trial: Trial, scene: Scene, plan: Plan) -> SessionId:
    if scene.config:
        trial.house.configure(**scene.config)
    for _ in range(plan.workers):
        await trial.worker(scene.faults)
    return await trial.say("Do it.")


async def arrive(trial: Trial, session: SessionId, reaching: Coroutine[Any, Any, None]) -> None:
    """Wait for the moment. Raises NotFired when the turn ends before it."""
    moment, end = asyncio.ensure_future(reaching), asyncio.ensure_future(trial.house.ended(session))
    done, waiting = await asyncio.wait((moment, end), return_when=asyncio.FIRST_COMPLETED)
    await ended(*waiting)
    if moment not in done:
        raise NotFired
    moment.result()


async def strike(lane: Lane, trial: Trial, session: SessionId, scene: Scene, plan: Plan) -> datetime:
    """The blow; since when all is back and the session may go on."""
    async with asyncio.TaskGroup() as group:
        async with struck(lane.settings, trial, plan):
            if plan.early:
                group.create_task(scene.leave(trial, session))
                await asyncio.sleep(0)  # it has begun before anything comes back
        if plan.fault is not None:
            await trial.reconnect()
        trial.healed.append(datetime.now(UTC))
        if not plan.early:
            group.create_task(scene.leave(trial, session))
    return datetime.now(UTC)


async def logged(trial: Trial) -> list[Record]:
    """The events of all sessions of a trial."""
    client = trial.house.client
    return [seen.record for each in await client.sessions() async for seen in client.log(each.id)]


def recovery(moments: Sequence[datetime], healed: datetime) -> float | None:
    """Seconds until a session has gone on; None when nothing was left to do."""
    later = [at for at in moments if at > healed]
    return (min(later) - healed).total_seconds() if later else None
