"""An answer is paid once: whatever its calls are, they can be looked at, judged and stored."""

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from activities.files.place import Place
from activities.mint import Mint
from activities.model.prepare import Preparer
from activities.model.stream import CallPart
from activities.store.calls import NewCall
from activities.store.database import dumps
from activities.tools.bash import Bash
from activities.tools.planning import planned
from activities.tools.read import Read, ReadParams
from activities.tools.table import TOOLS
from activities.tools.tool import Plan, Tool
from tests.activities.scene import Scene
from tests.activities.tools import hostile
from tests.activities.tools.calling import project
from tests.activities.tools.test_claim import decisions
from workflows.domain.ids import PartId
from workflows.domain.messages import CallState
from workflows.domain.permissions.findings import Finding, finding
from workflows.domain.permissions.rules import Action, Rule, Ruleset
from workflows.domain.wire import RanState

HANGS = 60  # seconds: a call that takes as long as this does not end
LONG = "a" * 300
EVERYTHING = Rule(permission="*", pattern="*", action=Action.ALLOW)


@pytest.fixture
def owned(tmp_path: Path) -> Iterator[Place]:
    """A furnished project of whoever runs the tests."""
    place = project(tmp_path)
    hostile.furnish(place)
    yield place
    hostile.release(place)


@pytest.fixture
def nobodys(unprivileged: Place) -> Iterator[Place]:
    """The same for somebody who may not open everything."""
    hostile.furnish(unprivileged)
    yield unprivileged
    hostile.release(unprivileged)


@pytest.fixture(params=["as we are", "as an ordinary user"])
def furnished(request: pytest.FixtureRequest) -> Place:
    name = "owned" if request.param == "as we are" else "nobodys"
    place: Place = request.getfixturevalue(name)
    return place


@given(wanted=hostile.calls())
@settings(
    max_examples=250,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_whatever_is_called_is_prepared_judged_and_stored(furnished: Place, wanted: tuple[str, str]) -> None:
    call = asyncio.run(prepared(furnished, *wanted))
    assert call.tool in TOOLS and dumps(call.model_dump(mode="json")) and call.loop
    for rules in ((), (EVERYTHING,)):
        assert all(found.action in Action for found in judged(call.plan, rules))


@pytest.mark.parametrize(
    "command",
    [f"rm {LONG}", f"cd {LONG} && rm x", f"./{LONG}", f"rm locked/{LONG}/*", "rm locked/x", "python locked/x"],
)
async def test_a_path_that_cannot_be_looked_at_is_judged_as_it_is_written(furnished: Place, command: str) -> None:
    call = await prepared(furnished, "bash", json.dumps({"command": command}))
    assert call.plan is not None and not call.plan.effect.unchecked


class Blind:
    """A look that the operating system refuses as long as a file is there."""

    async def plan(self, params: Any, place: Place) -> Plan:
        if (place.directory / "blind").exists():
            raise PermissionError(13, "Permission denied")
        planned: Plan = await super().plan(params, place)  # type: ignore[misc]  # of the tool that it is mixed into
        return planned


class BlindBash(Blind, Bash): ...


class BlindRead(Blind, Read): ...


BLIND: dict[str, Tool[Any]] = {**TOOLS, "bash": BlindBash(), "read": BlindRead()}


async def unchecked(scene: Scene, tool: str = "bash", rules: object = "allow", **arguments: str) -> PartId:
    """A stored call that could not be checked, of a turn under these rules."""
    scene.tools = BLIND
    scene.file("blind", "")
    await scene.open_turn(permission={"*": rules})
    return await scene.called(tool, **(arguments or {"command": "echo hi > out"}))


class Stuck(Read):
    """As a file that is on a disk which does not answer."""

    async def plan(self, params: ReadParams, place: Place) -> Plan:
        await asyncio.to_thread(time.sleep, 0.5)
        return await super().plan(params, place)


async def test_a_disk_that_does_not_answer_is_not_waited_for(tmp_path: Path) -> None:
    params = ReadParams.model_validate({"filePath": "a.txt"})

    plan = await planned(Stuck(), params, project(tmp_path), clock=0.05)

    assert plan.effect.unchecked
    assert plan.requests[0].opaque == "This call could not be checked: that took more than 0.05 s."


async def test_what_cannot_be_checked_asks_under_every_policy_and_says_why(scene: Scene) -> None:
    row = await scene.row(await unchecked(scene))
    assert row.plan is not None and row.digest == row.plan.effect.digest
    (request,) = row.plan.requests
    assert request.opaque == "This call could not be checked: PermissionError: [Errno 13] Permission denied."
    assert [found.action for found in judged(row.plan, (EVERYTHING,))] == [Action.ASK]
    assert (row.plan.effect.arguments, row.plan.effect.directory) == (row.arguments, str(scene.project))
    for deny in (Rule(permission="bash", pattern=pattern, action=Action.DENY) for pattern in ("*", "echo *")):
        assert [found.action for found in judged(row.plan, (EVERYTHING, deny))] == [Action.DENY]


async def test_a_person_may_allow_a_command_that_cannot_be_checked(scene: Scene) -> None:
    call = await unchecked(scene)
    assert (await scene.run(call)).state is RanState.DRIFTED and not (scene.project / "out").exists()
    await scene.answer(await scene.asked(call))
    await scene.run(call)
    assert await scene.state(call) is CallState.DONE and (scene.project / "out").read_text() == "hi\n"
    assert [each.by for each in await decisions(scene)] == ["answer"]


async def test_another_tool_does_not_run_unchecked_whoever_allows_it(scene: Scene) -> None:
    call = await unchecked(scene, "read", filePath="blind")
    await scene.answer(await scene.asked(call))
    await scene.run(call)
    assert await scene.state(call) is CallState.FAILED
    assert "could not be checked" in await scene.said(call) and "It has not run." in await scene.said(call)


@pytest.mark.parametrize("rules", ["allow", "ask"])
async def test_a_check_that_succeeds_in_the_claim_is_drift(scene: Scene, rules: str) -> None:
    call = await unchecked(scene, rules={"*": rules})
    await scene.answer(await scene.asked(call))
    (scene.project / "blind").unlink()
    ran = await scene.run(call)
    assert ran.state is RanState.DRIFTED and {each.action for each in ran.findings} == {Action(rules)}
    assert not (scene.project / "out").exists()
    if rules == "allow":
        await scene.run(call, revision=ran.revision)
        assert await scene.state(call) is CallState.DONE


async def prepared(place: Place, tool: str, arguments: str) -> NewCall:
    async with asyncio.timeout(HANGS):
        return await Preparer(TOOLS, place, Mint()).prepare(0, CallPart("c1", tool, arguments))


def judged(plan: Plan | None, rules: Ruleset) -> list[Finding]:
    return [finding(request, rules) for request in plan.requests] if plan else []
