"""Parks as rows: while one is open nothing is asked, claimed or opened for its session."""

from datetime import UTC, datetime, timedelta

import pytest

from activities.store import bells, generations, inbox, parks, sessions
from activities.store.bells import BellKind
from activities.store.generations import Parked
from activities.tools import claim
from tests.activities.scene import Scene
from workflows.domain.errors import Conflict
from workflows.domain.events import SessionParked, SessionUnparked
from workflows.domain.ids import ParkId
from workflows.domain.messages import CallState
from workflows.domain.parking import Doubt, ParkReason
from workflows.domain.wire import RanState

PARK = ParkId("prk_1")


async def park(scene: Scene) -> None:
    async with scene.journal() as opened:
        parks.park(opened, PARK, Doubt(reason=ParkReason.RESTART))


async def resume(scene: Scene, name: ParkId | None = None) -> parks.Resumed:
    async with scene.journal() as opened:
        return await parks.resume(opened, name)


async def test_no_model_is_asked_for_a_parked_session(scene: Scene) -> None:
    await scene.open_turn()
    await park(scene)
    async with scene.journal() as opened:
        assert await generations.begin(opened, scene.turn, 1, scene.fence()) == Parked()
    await resume(scene)
    async with scene.journal() as opened:
        assert await generations.begin(opened, scene.turn, 1, scene.fence()) != Parked()


async def test_no_call_begins_or_is_taken_over_and_a_stored_outcome_is_told(scene: Scene) -> None:
    await scene.open_turn()
    done, claimed, prepared = await scene.answered(*[("write", {"filePath": n, "content": "x"}) for n in "abc"])
    await scene.run(done)
    await scene.claim(claimed)
    await park(scene)
    ran = [(await scene.run(call)).state for call in (done, claimed, prepared)]
    assert ran == [RanState.SETTLED, RanState.PARKED, RanState.PARKED]
    assert not (scene.project / "b").exists() and not (scene.project / "c").exists()
    assert isinstance(await scene.claim(prepared), claim.Parked)


async def test_no_turn_is_opened_for_what_waits_until_it_is_resumed(scene: Scene) -> None:
    await scene.prompt(model="scripted/model")
    await park(scene)
    assert (await scene.load()).turn is None and await bells.waiting(scene.database, quiet=0) == []
    await resume(scene)
    assert (await scene.load()).turn is not None


async def test_a_resumed_session_is_rung_until_the_engine_knows(scene: Scene) -> None:
    await park(scene)
    assert await resume(scene) == await resume(scene, PARK)
    (bell,) = await bells.undelivered(scene.database, datetime.now(UTC) + timedelta(seconds=1))
    await bells.rang(scene.database, bell)
    assert (bell.kind, bell.id) == (BellKind.RESUME, PARK)
    assert await bells.undelivered(scene.database, datetime.now(UTC) + timedelta(seconds=1)) == []
    assert [type(event) for event in await scene.events()][1:] == [SessionParked, SessionUnparked]


async def test_what_is_not_parked_cannot_be_resumed(scene: Scene) -> None:
    with pytest.raises(Conflict, match="is not parked"):
        await resume(scene)
    await park(scene)
    await resume(scene)
    with pytest.raises(Conflict, match="is not parked"):
        await resume(scene)


async def test_a_stop_ends_a_parked_turn_and_the_parking(scene: Scene) -> None:
    await scene.open_turn()
    call = await scene.called("write", filePath="a", content="x")
    await park(scene)
    await scene.stop()
    await scene.run(call)
    await scene.close()
    assert await scene.state(call) is CallState.CANCELLED
    assert (await sessions.get(scene.database, scene.session)).parked is None
    assert SessionUnparked(park=PARK, resumed=False) in await scene.events()


async def test_a_parked_session_is_listed_with_its_reason(scene: Scene) -> None:
    await scene.open_turn()
    assert await parks.at_work(scene.database) == [scene.session]
    await park(scene)
    seen = await sessions.get(scene.database, scene.session)
    (listed,) = await inbox.parked(scene.database)
    assert seen.parked is not None and (seen.parked.id, seen.parked.reason) == (PARK, ParkReason.RESTART)
    assert (listed.session, listed.title) == (scene.session, "A session")
    assert await parks.at_work(scene.database) == []
