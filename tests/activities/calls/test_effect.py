"""CallEffect: planned with the arguments of its call, run and stopped under its claim."""

import pytest
from pydantic import field_validator

from activities.tools.glob import GlobParams, GlobTool
from activities.tools.registry import TOOLS
from tests.activities.probe_tool import probe
from tests.activities.rig import HERE, ActivityRig
from workflows.domain.effects import Plan, Recovery
from workflows.domain.errors import ToolError
from workflows.domain.messages import CallState


async def test_arguments_that_do_not_fit_are_no_plan(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await rig.called("read", filePath=7)
    found = await (await rig.effect(call, rig.fence())).plan()
    assert isinstance(found, ToolError) and "invalid arguments" in str(found)


async def test_a_tool_that_has_gone_makes_no_plan_and_leaves_a_claimed_call_unknown(rig: ActivityRig) -> None:
    rig.tools = probe(Recovery.REPEATABLE)
    await rig.open_turn()
    call, fence = await rig.called("probe"), rig.fence()
    await rig.claim(call, fence)
    rig.tools = TOOLS
    effect, row = await rig.effect(call, fence), await rig.row(call)
    ran, stopped = await effect.run(row, recover=False), await effect.stop(row)
    assert isinstance(await effect.plan(), ToolError) and ran == stopped
    assert stopped[0] is CallState.UNKNOWN and "There is no tool 'probe' any more." in stopped[1].output


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
    plan = await effect.plan()
    assert isinstance(plan, Plan) and effect.params.pattern == "*" and checked == ["*"]


@pytest.mark.parametrize("machine", [HERE, "elsewhere"])
@pytest.mark.parametrize("kind", Recovery)
async def test_a_call_is_stopped_by_its_class(rig: ActivityRig, kind: Recovery, machine: str) -> None:
    rig.tools = probe(kind)
    await rig.open_turn()
    call, fence = await rig.called("probe"), rig.fence()
    await rig.claim(call, fence)
    effect = await rig.call_contexts(machine).open(call, fence)
    state, _ = await effect.stop(await rig.row(call))
    assert state is (CallState.CANCELLED if kind.may_run_again else CallState.UNKNOWN)
