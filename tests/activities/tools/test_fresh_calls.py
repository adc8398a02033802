"""Calls that this process has just prepared: run without reading, as long as nothing has happened to their session."""

from pathlib import Path

import pytest

from activities.store import calls, grants
from activities.store.calls import FreshCall
from activities.store.database import Database
from activities.store.journal import WORKER, Place, journal
from activities.tools.run import Tools
from bench.wire import counted
from tests.activities.scene import Scene, scene_in
from tests.activities.tools.test_claim import ENDS, decisions, edited, granted
from workflows.domain.errors import StaleFence
from workflows.domain.events import Decision
from workflows.domain.ids import PartId
from workflows.domain.messages import CallState, Outcome

RUN = ["call.claimed", "call.finished"]


async def place(scene: Scene) -> Place:
    """Where the session is now."""
    async with journal(scene.database, scene.session, WORKER, chain_start=scene.chain) as opened:
        await opened.locked()
    return opened.left


async def remembered(scene: Scene, call: PartId) -> PartId:
    """Have the process know a call as the activity leaves it that has prepared it."""
    row, context = await calls.read(scene.database, call)
    async with journal(scene.database, scene.session, WORKER) as opened:
        live = await grants.live(opened)
    scene.database.contexts.keep((scene.session, context.snapshot), context)
    calls.keep_fresh(scene.database, FreshCall(row, context.snapshot, live, await place(scene)))
    return call


async def test_a_fresh_call_is_claimed_and_settled_in_a_round_trip_each(postgres_url: str, tmp_path: Path) -> None:
    async with counted(postgres_url, tmp_path) as (url, tally), Database(url) as database:
        scene = await scene_in(database, tmp_path)
        await scene.open_turn()
        call = await remembered(scene, await scene.called("glob", pattern="*"))
        before = len(tally.transactions)
        await scene.run(call)
        made = tally.transactions[before:]
        assert await scene.state(call) is CallState.DONE
    assert [each.round_trips for each in made] == [1, 1]


async def test_its_claim_and_its_outcome_are_in_the_log_as_always(scene: Scene) -> None:
    await scene.open_turn()
    call = await remembered(scene, await edited(scene))
    await scene.run(call)
    assert [(each.permission, each.by) for each in await decisions(scene)] == [("edit", "rule")]
    assert ((await scene.types())[-2:], await scene.state(call)) == (RUN, CallState.DONE)


@pytest.mark.parametrize("how", ENDS)
async def test_what_has_ended_meanwhile_is_seen(scene: Scene, how: str) -> None:
    await scene.open_turn()
    call = await remembered(scene, await scene.called("glob", pattern="*"))
    await ENDS[how](scene)
    await scene.run(call)
    assert "call.claimed" not in await scene.types()


async def test_a_later_chain_is_seen(scene: Scene) -> None:
    await scene.open_turn()
    call = await remembered(scene, await scene.called("glob", pattern="*"))
    async with journal(scene.database, scene.session, WORKER, chain_start=scene.chain + 1) as opened:
        await opened.locked()
    with pytest.raises(Exception, match="taken over by a later chain"):
        await scene.run(call)


async def test_a_prompt_that_has_come_meanwhile_changes_nothing(scene: Scene) -> None:
    await scene.open_turn()
    call = await remembered(scene, await edited(scene))
    await scene.prompt("One more.")
    await scene.run(call)
    assert (await scene.types())[-2:] == RUN


async def test_a_file_that_has_changed_meanwhile_is_drift(scene: Scene) -> None:
    await scene.open_turn()
    call = await remembered(scene, await edited(scene))
    scene.file("sub/a.txt", "one\nthree\n")
    await scene.run(call)
    assert (await scene.types())[-3:] == ["call.drifted", *RUN]


async def test_a_grant_is_looked_at_again_and_its_use_is_counted(scene: Scene) -> None:
    await scene.open_turn(permission={"edit": "ask"})
    grant = await granted(scene)
    call = await remembered(scene, await edited(scene))
    await scene.run(call)
    assert await decisions(scene) == [Decision(permission="edit", by="grant", grant=grant)]
    assert [row.uses for row in await grants.listed(scene.database)] == [1]


async def test_an_outcome_is_written_although_something_has_come_since_the_claim(scene: Scene) -> None:
    await scene.open_turn()
    call, fence = await scene.called("glob", pattern="*"), scene.fence()
    await scene.claim(call, fence)
    row, left = await scene.row(call), await place(scene)
    await scene.prompt("One more.")
    tools = Tools(scene.database, scene.workshop())
    await tools.settle(row, fence, CallState.DONE, Outcome(output="found"), left)
    assert await scene.said(call) == "found"


async def test_an_outcome_of_an_overtaken_claim_is_refused(scene: Scene) -> None:
    await scene.open_turn()
    call, fence = await scene.called("glob", pattern="*"), scene.fence()
    await scene.claim(call, fence)
    row, left = await scene.row(call), await place(scene)
    await scene.claim(call, fence._replace(attempt=2))
    with pytest.raises(StaleFence):
        await Tools(scene.database, scene.workshop()).settle(row, fence, CallState.DONE, Outcome(output="late"), left)
    assert await scene.state(call) is CallState.CLAIMED
