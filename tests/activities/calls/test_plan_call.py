"""An answer is paid once: any calls in it can be prepared, judged and stored."""

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from activities.calls.plan_call import plan_call
from activities.calls.prepare import CallPreparer
from activities.files.workspace import Workspace
from activities.store.calls import CallRow
from activities.store.database import dumps
from activities.tools.bash import BashTool
from activities.tools.read import ReadParams, ReadTool
from activities.tools.registry import TOOLS
from activities.tools.tool import Plan, Tool
from activities.turn_context import TurnContext
from tests.activities.calls.test_claim import decisions
from tests.activities.calls.test_prepare import STEP
from tests.activities.rig import ActivityRig
from tests.activities.tools import hostile_calls
from tests.activities.tools.tool_calls import project
from tests.polling import WAIT_TIMEOUT
from workflows.domain.ids import MessageId, PartId
from workflows.domain.messages import CallState, RequestedCall
from workflows.domain.open_call import CallResultState
from workflows.domain.permissions.findings import Finding, evaluate_request
from workflows.domain.permissions.rules import Action, Rule, Ruleset

LONG = "a" * 300
EVERYTHING = Rule(permission="*", pattern="*", action=Action.ALLOW)


@pytest.fixture
def owned(tmp_path: Path) -> Iterator[Workspace]:
    """A furnished project of the user who runs the tests."""
    workspace = project(tmp_path)
    hostile_calls.furnish(workspace)
    yield workspace
    hostile_calls.release(workspace)


@pytest.fixture
def nobodys(unprivileged: Workspace) -> Iterator[Workspace]:
    """The same for a user who may not open everything."""
    hostile_calls.furnish(unprivileged)
    yield unprivileged
    hostile_calls.release(unprivileged)


@pytest.fixture(params=["as we are", "as an ordinary user"])
def furnished(request: pytest.FixtureRequest) -> Workspace:
    name = "owned" if request.param == "as we are" else "nobodys"
    workspace: Workspace = request.getfixturevalue(name)
    return workspace


@given(wanted=hostile_calls.calls())
@settings(
    max_examples=250,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_whatever_is_called_is_prepared_judged_and_stored(furnished: Workspace, wanted: tuple[str, str]) -> None:
    call = asyncio.run(prepared(furnished, *wanted))
    assert call.tool in TOOLS and dumps(call.model_dump(mode="json")) and call.loop_digest
    for rules in ((), (EVERYTHING,)):
        assert all(found.action in Action for found in judged(call.plan, rules))


@pytest.mark.parametrize(
    "command",
    [f"rm {LONG}", f"cd {LONG} && rm x", f"./{LONG}", f"rm locked/{LONG}/*", "rm locked/x", "python locked/x"],
)
async def test_a_path_that_cannot_be_looked_at_is_judged_as_it_is_written(furnished: Workspace, command: str) -> None:
    call = await prepared(furnished, "bash", json.dumps({"command": command}))
    assert call.plan is not None and not call.plan.effect.unchecked


class Blind:
    """A plan that the operating system refuses while a file exists."""

    async def plan(self, params: Any, turn: TurnContext) -> Plan:
        if (turn.workspace.directory / "blind").exists():
            raise PermissionError(13, "Permission denied")
        planned: Plan = await super().plan(params, turn)  # type: ignore[misc]  # of the tool that it is mixed into
        return planned


class BlindBash(Blind, BashTool): ...


class BlindRead(Blind, ReadTool): ...


BLIND: dict[str, Tool[Any]] = {**TOOLS, "bash": BlindBash(), "read": BlindRead()}


async def unchecked(rig: ActivityRig, tool: str = "bash", rules: object = "allow", **arguments: str) -> PartId:
    """A stored call that could not be checked, in a turn under these rules."""
    rig.tools = BLIND
    rig.file("blind", "")
    await rig.open_turn(permission={"*": rules})
    return await rig.called(tool, **(arguments or {"command": "echo hi > out"}))


class Stuck(ReadTool):
    """Like a file on a disk that does not answer."""

    async def plan(self, params: ReadParams, turn: TurnContext) -> Plan:
        await asyncio.to_thread(time.sleep, 0.5)
        return await super().plan(params, turn)


async def test_a_disk_that_does_not_answer_is_not_waited_for(tmp_path: Path) -> None:
    plan = await plan_call(
        Stuck(), ReadParams(filePath="a.txt"), {"filePath": "a.txt"}, TurnContext(project(tmp_path)), timeout=0.05
    )

    assert plan.effect.unchecked
    assert plan.requests[0].opaque == "This call could not be checked: that took more than 0.05 s."


async def test_what_cannot_be_checked_asks_under_every_policy_and_says_why(rig: ActivityRig) -> None:
    row = await rig.row(await unchecked(rig))
    assert row.plan is not None and row.digest == row.plan.effect.digest
    (request,) = row.plan.requests
    assert request.opaque == "This call could not be checked: PermissionError: [Errno 13] Permission denied."
    assert [found.action for found in judged(row.plan, (EVERYTHING,))] == [Action.ASK]
    assert (row.plan.effect.arguments, row.plan.effect.directory) == (row.arguments, str(rig.project))
    for deny in (Rule(permission="bash", pattern=pattern, action=Action.DENY) for pattern in ("*", "echo *")):
        assert [found.action for found in judged(row.plan, (EVERYTHING, deny))] == [Action.DENY]


async def test_a_person_may_allow_a_command_that_cannot_be_checked(rig: ActivityRig) -> None:
    call = await unchecked(rig)
    assert (await rig.run(call)).state is CallResultState.DRIFTED and not (rig.project / "out").exists()
    await rig.answer(await rig.asked(call))
    await rig.run(call)
    assert await rig.state(call) is CallState.DONE and (rig.project / "out").read_text() == "hi\n"
    assert [each.by for each in await decisions(rig)] == ["answer"]


async def test_another_tool_does_not_run_unchecked_whoever_allows_it(rig: ActivityRig) -> None:
    call = await unchecked(rig, "read", filePath="blind")
    await rig.answer(await rig.asked(call))
    await rig.run(call)
    assert await rig.state(call) is CallState.FAILED
    assert "could not be checked" in await rig.output(call) and "It has not run." in await rig.output(call)


@pytest.mark.parametrize("rules", ["allow", "ask"])
async def test_a_check_that_succeeds_in_the_claim_is_drift(rig: ActivityRig, rules: str) -> None:
    call = await unchecked(rig, rules={"*": rules})
    await rig.answer(await rig.asked(call))
    (rig.project / "blind").unlink()
    ran = await rig.run(call)
    assert ran.state is CallResultState.DRIFTED and {each.action for each in ran.findings} == {Action(rules)}
    assert not (rig.project / "out").exists()
    if rules == "allow":
        await rig.run(call, revision=ran.revision)
        assert await rig.state(call) is CallState.DONE


async def prepared(workspace: Workspace, tool: str, arguments: str) -> CallRow:
    async with asyncio.timeout(WAIT_TIMEOUT):
        return await CallPreparer(STEP, MessageId("msg_1"), TOOLS, TurnContext(workspace)).prepare(
            0, RequestedCall("c1", tool, arguments)
        )


def judged(plan: Plan | None, rules: Ruleset) -> list[Finding]:
    return [evaluate_request(request, rules) for request in plan.requests] if plan else []
