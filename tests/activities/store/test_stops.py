"""Stops: they name their turn, and withdraw untaken prompts."""

from activities.store import stops, work
from tests.activities.rig import ActivityRig
from workflows.domain.events.stops import StopAccepted
from workflows.domain.ids import StopId
from workflows.domain.prompt import PromptMode


async def test_a_stop_names_the_open_turn_and_withdraws_what_waits(rig: ActivityRig) -> None:
    await rig.open_turn()
    waiting = [await rig.prompt("More."), await rig.prompt("Later.", mode=PromptMode.QUEUE)]
    stopped = await rig.stop()
    assert (stopped.turn, list(stopped.withdrawn)) == (rig.turn, waiting)
    assert (await rig.types())[-3:] == ["stop.accepted", "prompt.withdrawn", "prompt.withdrawn"]


async def test_a_stop_may_keep_queued_prompts(rig: ActivityRig) -> None:
    await rig.open_turn()
    kept = await rig.prompt("Later.", mode=PromptMode.QUEUE)
    stopped = await rig.stop(keep_queued=True)
    async with rig.journal() as journal:
        assert stopped.withdrawn == () and [item.id for item in await work.untaken(journal)] == [kept]


async def test_without_a_turn_only_prompts_are_withdrawn(rig: ActivityRig) -> None:
    prompt = await rig.prompt()
    stopped = await rig.stop()
    assert (stopped.turn, stopped.withdrawn) == (None, (prompt,))
    assert StopAccepted(stop=stopped.stop, turn=None) in await rig.events()
    assert (await rig.load()).turn is None


async def test_the_same_stop_again_stays_with_its_turn(rig: ActivityRig) -> None:
    await rig.open_turn()
    first = await rig.stop()
    await rig.close()
    await rig.open_turn()
    events = await rig.events()
    async with rig.journal() as journal:
        again = await stops.accept(journal, first.stop)
    assert again.turn == first.turn != rig.turn and await rig.events() == events


async def test_two_stops_of_one_turn_are_two_rows(rig: ActivityRig) -> None:
    await rig.open_turn()
    async with rig.journal() as journal:
        found = [await stops.accept(journal, StopId(name)) for name in ("stp_1", "stp_2")]
    assert [stop.turn for stop in found] == [rig.turn] * 2
