"""Suspensions as rows: while one is open, its session asks, claims and opens nothing."""

import pytest

from activities.store import generations, overviews, suspensions, waiting_items
from tests.activities.rig import ActivityRig
from workflows.domain.errors import Conflict
from workflows.domain.events.sessions import SessionSuspended, SuspensionEnded
from workflows.domain.ids import SuspensionId
from workflows.domain.messages import CallState
from workflows.domain.open_call import CallResult, CallResultState
from workflows.domain.suspension import SuspendCause, SuspendReason
from workflows.domain.wake_signal import WakeKind


async def suspend(rig: ActivityRig) -> SuspensionId:
    async with rig.journal() as journal:
        return await suspensions.suspend(journal, SuspendCause(reason=SuspendReason.RESTART))


async def resume(rig: ActivityRig, suspension: SuspensionId | None = None) -> SuspensionId:
    async with rig.journal() as journal:
        return await suspensions.resume(journal, suspension)


async def test_no_model_is_asked_for_a_suspended_session(rig: ActivityRig) -> None:
    await rig.open_turn()
    await suspend(rig)
    async with rig.journal() as journal:
        assert await generations.begin(journal, rig.generation(1), rig.fence()) == generations.Suspended()
    await resume(rig)
    async with rig.journal() as journal:
        assert await generations.begin(journal, rig.generation(1), rig.fence()) != generations.Suspended()


async def test_no_call_begins_or_is_taken_over_and_a_stored_outcome_is_returned(rig: ActivityRig) -> None:
    await rig.open_turn()
    done, claimed, prepared = await rig.answered(*[("write", {"filePath": n, "content": "x"}) for n in "abc"])
    await rig.run(done)
    await rig.claim(claimed)
    await suspend(rig)
    ran = [(await rig.run(call)).state for call in (done, claimed, prepared)]
    assert ran == [CallResultState.SETTLED, CallResultState.SUSPENDED, CallResultState.SUSPENDED]
    assert not (rig.project / "b").exists() and not (rig.project / "c").exists()
    refused = await rig.claim(prepared)
    assert isinstance(refused, CallResult) and refused.state is CallResultState.SUSPENDED


async def test_no_turn_is_opened_for_what_waits_until_it_is_resumed(rig: ActivityRig) -> None:
    await rig.prompt(model="scripted/model")
    await suspend(rig)
    assert (await rig.load()).turn is None
    await resume(rig)
    assert (await rig.load()).turn is not None


async def test_a_resumed_session_is_signalled_once(rig: ActivityRig) -> None:
    suspension = await suspend(rig)
    assert await suspend(rig) == suspension
    assert await resume(rig) == await resume(rig, suspension) == suspension
    assert await rig.signals() == [(WakeKind.RESUME, suspension)]
    assert [type(event) for event in await rig.events()][1:] == [SessionSuspended, SuspensionEnded]


async def test_a_session_that_is_not_suspended_cannot_be_resumed(rig: ActivityRig) -> None:
    with pytest.raises(Conflict, match="is not suspended"):
        await resume(rig)
    await suspend(rig)
    await resume(rig)
    with pytest.raises(Conflict, match="is not suspended"):
        await resume(rig)


async def test_a_stop_ends_the_turn_and_the_suspension(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await rig.called("write", filePath="a", content="x")
    suspension = await suspend(rig)
    await rig.stop()
    await rig.run(call)
    await rig.close()
    assert await rig.state(call) is CallState.CANCELLED
    assert (await overviews.get(rig.database, rig.session)).suspension is None
    assert SuspensionEnded(suspension=suspension, resumed=False) in await rig.events()


async def test_a_suspended_session_is_listed_with_its_reason(rig: ActivityRig) -> None:
    await rig.open_turn()
    assert await suspensions.sessions_at_work(rig.database) == [rig.session]
    suspension = await suspend(rig)
    seen = await overviews.get(rig.database, rig.session)
    (listed,) = await waiting_items.suspended_sessions(rig.database)
    assert seen.suspension is not None and (seen.suspension.id, seen.suspension.reason) == (
        suspension,
        SuspendReason.RESTART,
    )
    assert (listed.session, listed.title) == (rig.session, "A session")
    assert await suspensions.sessions_at_work(rig.database) == []
