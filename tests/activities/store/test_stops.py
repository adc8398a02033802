"""Stops: they name their turn, and withdraw what nobody has taken."""

from activities.store import prompts, stops
from activities.store.prompts import Mode
from tests.activities.scene import Scene
from workflows.domain.events import StopAccepted
from workflows.domain.ids import StopId


async def test_a_stop_names_the_open_turn_and_withdraws_what_waits(scene: Scene) -> None:
    await scene.open_turn()
    waiting = [await scene.prompt("More."), await scene.prompt("Later.", mode=Mode.QUEUE)]
    stopped = await scene.stop()
    assert (stopped.turn, list(stopped.withdrawn)) == (scene.turn, waiting)
    assert (await scene.types())[-3:] == ["stop.accepted", "prompt.withdrawn", "prompt.withdrawn"]


async def test_what_is_queued_may_be_kept(scene: Scene) -> None:
    await scene.open_turn()
    kept = await scene.prompt("Later.", mode=Mode.QUEUE)
    stopped = await scene.stop(keep_queued=True)
    async with scene.journal() as opened:
        assert stopped.withdrawn == () and await prompts.untaken(opened) == [kept]


async def test_without_a_turn_only_prompts_are_withdrawn(scene: Scene) -> None:
    prompt = await scene.prompt()
    stopped = await scene.stop()
    assert (stopped.turn, stopped.withdrawn) == (None, (prompt,))
    assert StopAccepted(stop=stopped.stop, turn=None) in await scene.events()
    assert (await scene.load()).turn is None


async def test_the_same_stop_again_stays_with_its_turn(scene: Scene) -> None:
    await scene.open_turn()
    first = await scene.stop()
    await scene.close()
    await scene.open_turn()
    events = await scene.events()
    async with scene.journal() as opened:
        again = await stops.accept(opened, first.stop)
    assert again.turn == first.turn != scene.turn and await scene.events() == events


async def test_two_stops_of_one_turn_are_two_rows(scene: Scene) -> None:
    await scene.open_turn()
    async with scene.journal() as opened:
        found = [await stops.accept(opened, StopId(name)) for name in ("stp_1", "stp_2")]
    assert [stop.turn for stop in found] == [scene.turn] * 2
