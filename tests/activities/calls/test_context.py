"""CallContextFactory: a stored call gets its tool, arguments and context."""

from contextlib import aclosing

import pytest

from activities.store import deltas, events
from activities.tools.tool import ToolContext
from tests.activities.rig import ActivityRig
from tests.watch_progress import read_all
from workflows.domain.errors import StaleFence
from workflows.domain.ids import PartId
from workflows.domain.wire import Fence


async def context(rig: ActivityRig, call: PartId, fence: Fence) -> ToolContext:
    return (await rig.effect(call, fence)).context


async def test_a_job_has_its_place_and_the_call_in_its_environment(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await rig.called("bash", command="true")
    found = await context(rig, call, Fence(1, 2, 3, 4))
    assert (found.workspace.directory, found.workspace.data) == (rig.project, rig.loader.data)
    assert (found.call, found.attempt, found.environment["HOLDFAST_CALL_ID"]) == (call, "1-2-3-4", call)


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
