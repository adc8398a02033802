"""Workshop: a stored call gets its tool, its arguments, and the world around it."""

from contextlib import aclosing

import pytest
from pydantic import field_validator

from activities.store import deltas, events
from activities.tools.glob import Glob, GlobParams
from activities.tools.table import TOOLS
from activities.tools.tool import Surroundings
from activities.tools.workshop import limits
from tests.activities.scene import Scene
from workflows.domain.config.config import ToolOutput
from workflows.domain.context.truncate import Limits
from workflows.domain.errors import StaleFence, ToolError
from workflows.domain.ids import PartId
from workflows.domain.wire import Fence


async def around(scene: Scene, call: PartId, fence: Fence) -> Surroundings:
    return (await scene.job(call, fence)).around


async def test_a_job_has_its_place_and_the_call_in_its_environment(scene: Scene) -> None:
    await scene.open_turn()
    call = await scene.called("bash", command="true")
    found = await around(scene, call, Fence(1, 2, 3))
    assert (found.place.directory, found.place.data) == (scene.project, scene.surveyor.data)
    assert (found.call, found.attempt, found.environment["HOLDFAST_CALL_ID"]) == (call, "1-2-3", call)


async def test_arguments_that_do_not_fit_make_no_job(scene: Scene) -> None:
    await scene.open_turn()
    call = await scene.called("read", filePath=7)
    with pytest.raises(ToolError, match="invalid arguments"):
        await scene.job(call, scene.fence())


async def test_arguments_are_checked_once(scene: Scene) -> None:
    checked: list[str] = []

    class NotingParams(GlobParams):
        @field_validator("pattern")
        @classmethod
        def note(cls, pattern: str) -> str:
            checked.append(pattern)
            return pattern

    class Noting(Glob):
        params = NotingParams

    await scene.open_turn()
    call = await scene.called("glob", pattern="*")
    scene.tools = {**TOOLS, "glob": Noting()}
    await (await scene.job(call, scene.fence())).plan()
    assert checked == ["*"]


async def test_progress_reaches_watchers_under_its_attempt(scene: Scene) -> None:
    await scene.open_turn()
    call = await scene.called("bash", command="true")
    async with aclosing(events.woken(scene.database, scene.session, at_least_every=60)) as ticks:
        await anext(ticks)
        await (await around(scene, call, Fence(1, 2, 3))).progress({"title": "half"})
    (delta,) = await deltas.since(scene.database, scene.session, 0)
    assert (delta.source, delta.attempt, delta.body) == (call, "1-2-3", {"title": "half"})


async def test_progress_that_nobody_watches_costs_no_row(scene: Scene) -> None:
    await scene.open_turn()
    call = await scene.called("bash", command="true")
    await (await around(scene, call, Fence(1, 2, 3))).progress({"title": "half"})
    assert await deltas.since(scene.database, scene.session, 0) == []


async def test_the_holder_of_the_claim_passes_the_fence(scene: Scene) -> None:
    await scene.open_turn()
    call, fence = await scene.called("glob", pattern="*"), scene.fence()
    await scene.claim(call, fence)
    await (await around(scene, call, fence)).fence()


@pytest.mark.parametrize("overtaken", ["by an attempt", "by a chain", "by an outcome", "before its claim"])
async def test_whoever_was_overtaken_does_not(scene: Scene, overtaken: str) -> None:
    await scene.open_turn()
    call, fence = await scene.called("glob", pattern="*"), scene.fence()
    mine = await around(scene, call, fence)
    if overtaken != "before its claim":
        await scene.claim(call, fence)
    if overtaken == "by an attempt":
        await scene.claim(call, fence._replace(attempt=2))
    if overtaken == "by an outcome":
        await scene.run(call)
    if overtaken == "by a chain":
        scene.chain += 1
        await scene.load()
    with pytest.raises(StaleFence, match="this attempt is"):
        await mine.fence()


def test_what_a_model_is_shown_is_as_configured_else_as_usual() -> None:
    assert limits(ToolOutput()) == Limits()
    assert limits(ToolOutput(max_lines=7)).max_lines == 7
