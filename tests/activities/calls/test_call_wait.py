"""A wait's row: written once, by the holder of the claim; it ends once, by whatever comes first."""

import pytest

from activities.session.deletion import Deletion
from activities.store import events, reconcile, waits
from tests.activities.rig import PERSON, ActivityRig
from worker.settings import Settings
from worker.waits_client import WaitsClient
from workflows.domain.errors import Conflict
from workflows.domain.events.waits import WaitBegun, WaitEnded
from workflows.domain.ids import PartId, SessionId
from workflows.domain.messages import CallState
from workflows.domain.open_call import CallResultState
from workflows.domain.waits import WaitEnd, WaitStatus
from workflows.domain.wake_signal import WakeKind
from workflows.domain.wire import CloseReason


async def waiting(rig: ActivityRig, **arguments: str) -> PartId:
    """A call that waits, in a turn of its own."""
    await rig.open_turn()
    call = await rig.called("wait", **arguments)
    assert (await rig.run(call)).state is CallResultState.DELEGATED
    return call


async def row(rig: ActivityRig, call: PartId) -> WaitStatus:
    found = await waits.of_call(rig.database, call)
    assert found is not None
    return found


def person(rig: ActivityRig) -> WaitsClient:
    async def deliver(_: SessionId) -> bool:
        return True

    return WaitsClient(Settings.read(), rig.database, PERSON, deliver)


async def is_due(rig: ActivityRig) -> bool:
    await rig.database.rows(b"DELETE FROM outbox")
    return rig.session in [found.session for found in await reconcile.due(rig.database, 0)]


async def test_a_wait_goes_on_until_its_rows_moment_has_come(rig: ActivityRig) -> None:
    call = await waiting(rig, until="60d")
    again = await rig.run(call)
    assert (again.state, await is_due(rig)) == (CallResultState.DELEGATED, False)
    assert again.seconds is not None and 59 * 86_400 < again.seconds <= 60 * 86_400

    await rig.database.rows(b"UPDATE wait SET until = now()")
    assert await is_due(rig)
    assert (await rig.run(call)).state is CallResultState.SETTLED
    assert (await rig.state(call)) is CallState.DONE and "The time came" in await rig.output(call)
    log = [each for each in await rig.events() if isinstance(each, WaitBegun | WaitEnded)]
    assert [each.type for each in log] == ["wait.begun", "wait.ended"] and not await is_due_for_call(rig, call)


async def is_due_for_call(rig: ActivityRig, call: PartId) -> bool:
    return any(call in found.ready for found in await reconcile.due(rig.database, 0))


async def test_a_moment_that_has_passed_is_told_at_once(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await rig.called("wait", until="2026-01-01T00:00:00Z")
    assert (await rig.run(call)).state is CallResultState.SETTLED
    assert "had passed when the wait began" in await rig.output(call)


async def test_who_comes_too_late_is_told_how_the_wait_ended(rig: ActivityRig) -> None:
    await rig.open_turn()
    await rig.run(await rig.called("wait", token="deploy", at_most="2026-01-01T00:00:00Z"))
    with pytest.raises(Conflict, match=r"The wait for it was given up at "):
        await person(rig).poke("deploy")


async def test_the_first_of_two_pokes_counts_and_the_second_is_told(rig: ActivityRig) -> None:
    call = await waiting(rig, token="deploy", at_most="3d")
    with pytest.raises(Conflict, match=rf"^No session waits for 'deplyo'\. Waited for: deploy \({rig.session}\)\.$"):
        await person(rig).poke("deplyo")
    poked = await person(rig).poke("deploy", "v2 is live")
    with pytest.raises(Conflict, match=r"^No session waits for 'deploy'\. The wait for it was poked by tester@here at"):
        await person(rig).poke("deploy", "v3 is live")

    assert (poked.session, poked.calls) == (rig.session, (call,))
    (ended,) = [each async for each in events.after(rig.database, rig.session) if isinstance(each.event, WaitEnded)]
    assert ended.actor == PERSON
    assert (await rig.signals())[-1] == (WakeKind.SETTLED, call)
    await rig.run(call)
    assert (await rig.output(call)).startswith("Poked by tester@here at ")
    assert (await rig.output(call)).endswith(": v2 is live")


async def test_a_poke_before_the_wait_has_begun_is_refused_and_loses_nothing(rig: ActivityRig) -> None:
    await rig.open_turn()
    call, fence = await rig.called("wait", token="deploy"), rig.fence()
    await rig.claim(call, fence)
    with pytest.raises(Conflict, match=r"^No session waits for 'deploy'\. Nothing waits for a poke now\.$"):
        await person(rig).poke("deploy")
    await rig.run(call)
    assert (await person(rig).poke("deploy")).calls == (call,)


async def test_a_poke_ends_all_waits_of_a_session_for_its_token(rig: ActivityRig) -> None:
    await rig.open_turn()
    given = ("wait", {"token": "deploy"})
    first, second, other = await rig.answered(given, given, ("wait", {"token": "review"}))
    for call in (first, second, other):
        await rig.run(call)
    assert (await person(rig).poke("deploy")).calls == (first, second)
    assert (await row(rig, other)).ending is None


async def test_a_stop_ends_the_wait_with_its_call(rig: ActivityRig) -> None:
    call = await waiting(rig, token="deploy")
    await rig.stop()
    with pytest.raises(Conflict, match="^No session waits"):
        await person(rig).poke("deploy")
    await rig.close(CloseReason.STOPPED)
    found = await row(rig, call)
    assert (await rig.state(call), found.ending) == (CallState.CANCELLED, "stopped")


async def test_a_later_attempt_finds_the_wait_of_an_earlier_one(rig: ActivityRig) -> None:
    call = await waiting(rig, until="2h")
    before = await row(rig, call)
    await rig.load()
    assert (await rig.run(call)).state is CallResultState.DELEGATED
    assert (await row(rig, call)).until == before.until


async def test_a_denied_wait_is_refused(rig: ActivityRig) -> None:
    await rig.open_turn(permission={"wait": {"secret*": "deny"}})
    call = await rig.called("wait", token="secret-1")
    await rig.run(call)
    assert await rig.state(call) is CallState.REFUSED


async def test_a_deleted_message_takes_its_waits_and_pokes_along(rig: ActivityRig) -> None:
    call = await waiting(rig, token="deploy")
    await person(rig).poke("deploy", "a secret")
    await rig.run(call)
    await rig.close()
    await Deletion(rig.database, rig.project.parent, None, PERSON).run_message(
        rig.session, (await rig.row(call)).message
    )
    assert await rig.database.rows(b"SELECT FROM wait UNION ALL SELECT FROM note") == []
    assert (await events.verify(rig.database, rig.session)).problem is None


@pytest.mark.parametrize("first", [WaitEnd.POKED, WaitEnd.WOKEN])
async def test_a_wait_that_has_ended_does_not_end_again(rig: ActivityRig, first: WaitEnd) -> None:
    call = await waiting(rig, until="60d")
    async with rig.journal() as journal:
        ended = [await waits.end(journal, call, ending) for ending in (first, WaitEnd.POKED, WaitEnd.WOKEN)]
    await rig.database.rows(b"UPDATE wait SET until = now()")
    async with rig.journal() as journal:
        await waits.end_if_due(journal, call)
        assert not await waits.end_and_notify(journal, call, WaitEnd.POKED)
        assert not await waits.end_all(journal)
    log = [event.end for event in await rig.events() if isinstance(event, WaitEnded)]
    assert (ended, log, (await row(rig, call)).ending) == ([True, False, False], [first], first)
