"""Calls just prepared in this process: they run without reading while their session is unchanged."""

from pathlib import Path

import pytest

from activities.store import calls, grants
from activities.store.calls import PreparedCall
from activities.store.database import Database
from activities.store.journal import WORKER, SessionVersion, session_journal
from bench.counting_proxy import counting_proxy
from tests.activities.calls.test_claim import ENDS, decisions, edited, granted
from tests.activities.rig import ActivityRig, open_rig
from workflows.domain.errors import StaleFence
from workflows.domain.events.calls import RecordedDecision
from workflows.domain.ids import PartId
from workflows.domain.messages import CallState, Outcome

RUN = ["call.claimed", "call.finished"]


async def place(rig: ActivityRig) -> SessionVersion:
    """The session's current version."""
    async with session_journal(rig.database, rig.session, WORKER, epoch=rig.epoch) as journal:
        await journal.locked()
    return journal.version_after


async def remembered(rig: ActivityRig, call: PartId) -> PartId:
    """Cache a call as the preparing activity does."""
    row, context = await calls.read(rig.database, call)
    async with session_journal(rig.database, rig.session, WORKER) as journal:
        live = await grants.list_live(journal)
    rig.database.call_environments.put((rig.session, context.turn_config), context)
    prepared = PreparedCall(row, context.turn_config, live, await place(rig))
    rig.database.prepared_calls.put(call, prepared)
    return call


async def test_a_fresh_call_is_claimed_and_settled_in_a_round_trip_each(postgres_url: str, tmp_path: Path) -> None:
    async with counting_proxy(postgres_url, tmp_path) as (url, tally), Database(url) as database:
        rig = await open_rig(database, tmp_path)
        await rig.open_turn()
        call = await remembered(rig, await rig.called("glob", pattern="*"))
        before = len(tally.transactions)
        await rig.run(call)
        made = tally.transactions[before:]
        assert await rig.state(call) is CallState.DONE
    assert [each.round_trips for each in made] == [1, 1]


async def test_its_claim_and_its_outcome_are_in_the_log_as_always(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await remembered(rig, await edited(rig))
    await rig.run(call)
    assert [(each.permission, each.by) for each in await decisions(rig)] == [("edit", "rule")]
    assert ((await rig.types())[-2:], await rig.state(call)) == (RUN, CallState.DONE)


@pytest.mark.parametrize("how", ENDS)
async def test_what_has_ended_meanwhile_is_seen(rig: ActivityRig, how: str) -> None:
    await rig.open_turn()
    call = await remembered(rig, await rig.called("glob", pattern="*"))
    await ENDS[how](rig)
    await rig.run(call)
    assert "call.claimed" not in await rig.types()


async def test_a_later_epoch_is_seen(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await remembered(rig, await rig.called("glob", pattern="*"))
    earlier = rig.epoch
    await rig.load()
    with pytest.raises(Exception, match="loaded by a later epoch"):
        await rig.run(call, epoch=earlier)


async def test_a_prompt_that_has_come_meanwhile_changes_nothing(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await remembered(rig, await edited(rig))
    await rig.prompt("One more.")
    await rig.run(call)
    assert (await rig.types())[-2:] == RUN


async def test_a_file_that_has_changed_meanwhile_is_drift(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await remembered(rig, await edited(rig))
    rig.file("sub/a.txt", "one\nthree\n")
    await rig.run(call)
    assert (await rig.types())[-3:] == ["call.drifted", *RUN]


async def test_a_grant_is_looked_at_again_and_its_use_is_counted(rig: ActivityRig) -> None:
    await rig.open_turn(permission={"edit": "ask"})
    grant = await granted(rig)
    call = await remembered(rig, await edited(rig))
    await rig.run(call)
    assert await decisions(rig) == [RecordedDecision(permission="edit", by="grant", grant=grant)]
    assert [row.uses for row in await grants.list_all(rig.database)] == [1]


async def test_an_outcome_is_written_although_something_has_come_since_the_claim(rig: ActivityRig) -> None:
    await rig.open_turn()
    call, fence = await rig.called("glob", pattern="*"), rig.fence()
    await rig.claim(call, fence)
    row, left = await rig.row(call), await place(rig)
    await rig.prompt("One more.")
    await calls.settle_claimed(rig.database, row, fence, CallState.DONE, Outcome(output="found"), left)
    assert await rig.output(call) == "found"


async def test_an_outcome_of_an_overtaken_claim_is_refused(rig: ActivityRig) -> None:
    await rig.open_turn()
    call, fence = await rig.called("glob", pattern="*"), rig.fence()
    await rig.claim(call, fence)
    row, left = await rig.row(call), await place(rig)
    await rig.claim(call, fence._replace(attempt=2))
    with pytest.raises(StaleFence):
        await calls.settle_claimed(rig.database, row, fence, CallState.DONE, Outcome(output="late"), left)
    assert await rig.state(call) is CallState.CLAIMED
