"""CallEffect: opened with its tool and context, planned with the arguments of its call, run and stopped under its
claim."""

from contextlib import aclosing

import pytest
from pydantic import field_validator

from activities.store import deltas, events
from activities.tools.glob import GlobParams, GlobTool
from activities.tools.registry import TOOLS
from activities.tools.tool import ToolContext
from tests.activities.probe_tool import probe
from tests.activities.rig import HERE, ActivityRig
from tests.watch_progress import read_all
from workflows.domain.effects import Plan, Recovery
from workflows.domain.errors import StaleFence, ToolError
from workflows.domain.fence import Fence
from workflows.domain.ids import PartId
from workflows.domain.messages import CallState


async def test_arguments_that_do_not_fit_are_no_plan(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await rig.called("read", filePath=7)
    found = await (await rig.effect(call, rig.fence())).plan(rig.database)
    assert isinstance(found, ToolError) and "invalid arguments" in str(found)


async def test_a_tool_that_has_gone_makes_no_plan_and_leaves_a_claimed_call_unknown(rig: ActivityRig) -> None:
    rig.tools = probe(Recovery.REPEATABLE)
    await rig.open_turn()
    call, fence = await rig.called("probe"), rig.fence()
    await rig.claim(call, fence)
    rig.tools = TOOLS
    effect, row = await rig.effect(call, fence), await rig.row(call)
    ran, stopped = await effect.run(row, recover=False), await effect.stop(row)
    assert isinstance(await effect.plan(rig.database), ToolError) and ran == stopped
    assert stopped[0] is CallState.UNKNOWN and "There is no tool 'probe' any more." in stopped[1].output


async def test_a_call_works_where_its_turn_began_and_follows_no_link_that_is_there_since(rig: ActivityRig) -> None:
    await rig.open_turn()
    call, project = await rig.called("read", filePath="a.txt"), rig.project.resolve()
    rig.project.rename(rig.project.with_name("moved"))
    rig.project.symlink_to("/")
    effect = await rig.effect(call, rig.fence())
    plan = await effect.plan(rig.database)
    assert effect.context.workspace.directory == project and isinstance(plan, Plan)
    assert "external_directory" in [request.permission for request in plan.requests]


async def test_arguments_are_checked_once(rig: ActivityRig) -> None:
    checked: list[str] = []

    class NotingParams(GlobParams):
        @field_validator("pattern")
        @classmethod
        def note(cls, pattern: str) -> str:
            checked.append(pattern)
            return pattern

    class Noting(GlobTool):
        params = NotingParams

    await rig.open_turn()
    call = await rig.called("glob", pattern="*")
    rig.tools = {**TOOLS, "glob": Noting()}
    effect = await rig.effect(call, rig.fence())
    plan = await effect.plan(rig.database)
    assert isinstance(plan, Plan) and effect.params.pattern == "*" and checked == ["*"]


@pytest.mark.parametrize("machine", [HERE, "elsewhere"])
@pytest.mark.parametrize("kind", Recovery)
async def test_a_call_is_stopped_by_its_class(rig: ActivityRig, kind: Recovery, machine: str) -> None:
    rig.tools = probe(kind)
    await rig.open_turn()
    call, fence = await rig.called("probe"), rig.fence()
    await rig.claim(call, fence)
    effect = await rig.call_effects(machine).open(call, fence)
    state, _ = await effect.stop(await rig.row(call))
    assert state is (CallState.CANCELLED if kind.may_run_again else CallState.UNKNOWN)


async def context(rig: ActivityRig, call: PartId, fence: Fence) -> ToolContext:
    return (await rig.effect(call, fence)).context


async def test_a_job_has_its_place_and_the_call_in_its_environment(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await rig.called("bash", command="true")
    found = await context(rig, call, Fence(1, 2, 3, 4))
    assert (found.workspace.directory, found.workspace.data) == (rig.project, rig.loader.data)
    assert (found.call, found.attempt, found.environment()["HOLDFAST_CALL_ID"]) == (call, "1-2-3-4", call)


async def test_progress_reaches_watchers_under_its_attempt(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await rig.called("bash", command="true")
    async with aclosing(events.ticks(rig.database, rig.session, read_all(rig.session))) as ticks:
        await anext(ticks)
        await (await context(rig, call, Fence(1, 2, 3, 4))).progress({"title": "half"})
    (delta,) = await deltas.since(rig.database, rig.session, 0)
    assert (delta.source, delta.attempt, delta.body) == (call, "1-2-3-4", {"title": "half"})


async def test_progress_that_nobody_watches_costs_no_row(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await rig.called("bash", command="true")
    await (await context(rig, call, Fence(1, 2, 3, 4))).progress({"title": "half"})
    assert await deltas.since(rig.database, rig.session, 0) == []


async def test_the_holder_of_the_claim_passes_the_fence(rig: ActivityRig) -> None:
    await rig.open_turn()
    call, fence = await rig.called("glob", pattern="*"), rig.fence()
    await rig.claim(call, fence)
    await (await context(rig, call, fence)).fence()


@pytest.mark.parametrize("overtaken", ["by an attempt", "by a chain", "by an outcome", "before its claim"])
async def test_whoever_was_overtaken_does_not(rig: ActivityRig, overtaken: str) -> None:
    await rig.open_turn()
    call, fence = await rig.called("glob", pattern="*"), rig.fence()
    mine = await context(rig, call, fence)
    if overtaken != "before its claim":
        await rig.claim(call, fence)
    if overtaken == "by an attempt":
        await rig.claim(call, fence._replace(attempt=2))
    if overtaken == "by an outcome":
        await rig.run(call)
    if overtaken == "by a chain":
        await rig.load()
        await rig.claim(call, rig.fence())
    with pytest.raises(StaleFence, match="this attempt is"):
        await mine.fence()
