"""The calls of a turn's steps."""

from typing import Any

from activities.store import turn_calls
from tests.activities.rig import ActivityRig
from workflows.domain.permissions import loop_guard


async def test_calls_of_a_step_keep_the_order_of_the_answer(rig: ActivityRig) -> None:
    await rig.open_turn()
    prepared = await rig.answered(*[("glob", {"pattern": str(number)}) for number in range(12)])
    async with rig.journal() as journal:
        assert [row.id for row in await turn_calls.of_step(journal, rig.turn, 1)] == prepared


async def test_the_loop_guard_remembers_the_last_two_calls_before_a_step(rig: ActivityRig) -> None:
    await rig.open_turn()
    await rig.called("glob", pattern="a")
    newest = await rig.answered(("glob", {"pattern": "b"}), ("glob", {"pattern": "c"}))
    loops = [(await rig.row(call)).loop_digest for call in newest]
    async with rig.journal() as journal:
        assert list(await turn_calls.recent_loops(journal, rig.turn, 3)) == loops
        assert await turn_calls.recent_loops(journal, rig.turn, 1) == ()


async def test_equal_results_of_the_newest_input_are_told_apart_from_others(rig: ActivityRig) -> None:
    rig.file("a.txt", "one\n" * 3000)
    await rig.open_turn()

    async def results(tool: str, **arguments: Any) -> loop_guard.Recent:
        await rig.run(await rig.called(tool, **arguments))
        async with rig.journal() as journal:
            return await turn_calls.recent_results(journal, rig.turn)

    await results("glob", pattern="*")
    once = await results("bash", command="cat a.txt")
    twice = await results("bash", command="cat a.txt")  # its text names a file of its own
    rig.file("a.txt", "two\n")
    changed = await results("bash", command="cat a.txt")
    assert [loop_guard.count_equal(each) for each in (once, twice, changed)] == [1, 2, 1]
    assert [result is None for _, result in changed] == [False, False, False, True]
    assert len({digest for digest, _ in changed}) == 2


async def test_unsettled_are_those_without_an_outcome(rig: ActivityRig) -> None:
    await rig.open_turn()
    done, claimed, prepared = await rig.answered(*[("glob", {"pattern": "*"})] * 3)
    await rig.run(done)
    await rig.claim(claimed)
    async with rig.journal() as journal:
        assert [row.id for row in await turn_calls.unsettled(journal, rig.turn)] == [claimed, prepared]
