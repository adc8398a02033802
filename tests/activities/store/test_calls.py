"""The ledger: a call's life in rows and events."""

from typing import Any

import pytest

from activities.store import asks, calls, events
from tests.activities.rig import ActivityRig
from workflows.domain.errors import NotFound, StaleFence
from workflows.domain.events.calls import CallDrifted, CallFinished, CallPrepared
from workflows.domain.fence import Fence
from workflows.domain.file_changes import ChangedFiles, FileChanged
from workflows.domain.ids import PartId
from workflows.domain.messages import CallState, Outcome
from workflows.domain.permissions import loop_guard
from workflows.domain.permissions.replies import Reply

ODD = ["a\x00b", "lone \ud800 surrogate", "\x1b[2K\r", "emoji 🙂"]


async def test_a_prepared_call_is_named_by_seal_and_digest_and_not_by_its_contents(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await rig.called("write", filePath="a.txt", content="a secret")
    (prepared,) = [event for event in await rig.events() if isinstance(event, CallPrepared)]
    assert (prepared.call, prepared.digest) == (call, (await rig.row(call)).digest)
    assert prepared.recovery == "reconcilable" and "a secret" not in prepared.model_dump_json()


@pytest.mark.parametrize("text", ODD)
async def test_any_text_is_kept_as_it_is(rig: ActivityRig, text: str) -> None:
    await rig.open_turn()
    call = await rig.called("bash", command=text)
    async with rig.journal() as journal:
        calls.settle(journal, await calls.lock(journal, call), CallState.FAILED, Outcome(output=text, error=True))
    row = await rig.row(call)
    assert row.arguments == {"command": text} and row.outcome == Outcome(output=text, error=True)
    assert (await events.verify(rig.database, rig.session)).problem is None


async def test_changed_files_are_counted_once_each_and_their_lines_each_time(rig: ActivityRig) -> None:
    await rig.open_turn()
    prepared = await rig.answered(*[("glob", {"pattern": str(number)}) for number in range(3)])
    async with rig.journal() as journal:
        for call, file in zip(prepared, ("odd \udce9", "odd \udce9", "even"), strict=True):
            changed = FileChanged(file=file, additions=2, deletions=1)
            outcome = Outcome(output="", changes=(changed,))
            calls.settle(journal, await calls.lock(journal, call), CallState.DONE, outcome)
    counted = await calls.changed_files(rig.database, [rig.session])
    assert counted == ChangedFiles(files=2, additions=6, deletions=3)


@pytest.mark.parametrize(("feedback", "counts"), [(None, True), ("use b.txt", False)])
async def test_only_a_rejection_without_a_word_ends_a_turn(
    rig: ActivityRig, feedback: str | None, counts: bool
) -> None:
    await rig.open_turn(permission={"edit": "ask"})
    call = await rig.called("write", filePath="a.txt", content="x")
    await rig.answer(await rig.asked(call), Reply.REJECT, feedback=feedback)
    async with rig.journal() as journal:
        assert await asks.any_rejected(journal, rig.turn) is counts


async def test_drift_counts_revisions_and_keeps_both_digests(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await rig.called("write", filePath="a.txt", content="x")
    before = await rig.row(call)
    async with rig.journal() as journal:
        row = await calls.lock(journal, call)
        drifted = row.revised(None)
        calls.drift(journal, row, drifted)
    assert drifted == await rig.row(call)
    assert (drifted.revision, drifted.plan, drifted.digest) == (1, None, None)
    assert (await rig.events())[-1] == CallDrifted(call=call, before=before.digest, digest=None)


async def test_the_holder_is_the_newest_fence(rig: ActivityRig) -> None:
    await rig.open_turn()
    call, fence = await rig.called("glob", pattern="*"), rig.fence()
    with pytest.raises(StaleFence, match="is prepared under fence None"):
        await calls.require_claim(rig.database, call, fence)
    await rig.claim(call, fence)
    await rig.load()
    await calls.require_claim(rig.database, call, fence)
    later = rig.fence()
    await rig.claim(call, later)
    await calls.require_claim(rig.database, call, later)
    with pytest.raises(StaleFence, match="under fence"):
        await calls.require_claim(rig.database, call, fence)


async def test_an_outcome_is_named_by_its_seal_and_carries_the_effects_digest(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await rig.called("glob", pattern="*")
    await rig.run(call)
    finished = (await rig.events())[-1]
    assert isinstance(finished, CallFinished)
    assert (finished.state, finished.digest) == ("done", (await rig.row(call)).digest)


async def test_the_newest_todo_list_is_stored(rig: ActivityRig) -> None:
    await rig.open_turn()
    for content in ("first", "second"):
        todos = [{"content": content, "status": "pending", "priority": "low"}]
        await rig.run(await rig.called("todowrite", todos=todos))
    async with rig.journal() as journal:
        row = await journal.row(b"SELECT items FROM todo WHERE session = %(session)s", session=rig.session)
    assert row is not None and [item["content"] for item in row["items"]] == ["second"]


async def test_the_environment_of_a_call_is_its_sessions_and_its_turns_configuration(rig: ActivityRig) -> None:
    await rig.open_turn(tool_output={"max_lines": 7})
    _, found = await calls.read(rig.database, await rig.called("glob", pattern="*"))
    assert found.environment == {}
    turn_config = await rig.database.turn_configs.get(rig.database, found.turn_config)
    assert turn_config.config.tool_output.max_lines == 7


async def test_a_call_that_does_not_exist_is_named(rig: ActivityRig) -> None:
    unknown = PartId("prt_x")
    with pytest.raises(NotFound, match="no call 'prt_x'"):
        await calls.read(rig.database, unknown)
    with pytest.raises(NotFound, match="no call 'prt_x'"):
        await calls.require_claim(rig.database, unknown, Fence(1, 1, 1, 1))
    async with rig.journal() as journal:
        with pytest.raises(NotFound, match="no call 'prt_x'"):
            await calls.lock(journal, unknown)


def test_a_fence_is_compared_by_epoch_then_sequence_then_attempt() -> None:
    rising = [Fence(1, 9, 9, 8), Fence(2, 1, 1, 6), Fence(2, 2, 1, 4), Fence(2, 2, 2, 2)]
    for place, holder in enumerate(rising):
        assert [fence.supersedes(holder) for fence in rising] == [other > place for other in range(len(rising))]


@pytest.mark.parametrize(
    ("holder", "may"),
    [
        (None, True),
        (Fence(2, 2, 2, 5), True),
        (Fence(2, 2, 1, 9), True),
        (Fence(2, 2, 2, 4), False),
        (Fence(2, 2, 2, 6), False),
        (Fence(2, 3, 1, 5), False),
    ],
    ids=["nobody", "itself", "a lower one", "an equal one", "another equal one", "a higher one"],
)
def test_an_execution_takes_from_itself_and_from_lower_attempts(holder: Fence | None, may: bool) -> None:
    assert Fence(2, 2, 2, 5).may_take(holder) is may


async def test_calls_of_a_step_keep_the_order_of_the_answer(rig: ActivityRig) -> None:
    await rig.open_turn()
    prepared = await rig.answered(*[("glob", {"pattern": str(number)}) for number in range(12)])
    async with rig.journal() as journal:
        assert [row.id for row in await calls.of_step(journal, rig.turn, 1)] == prepared


async def test_the_loop_guard_remembers_the_last_two_calls_before_a_step(rig: ActivityRig) -> None:
    await rig.open_turn()
    await rig.called("glob", pattern="a")
    newest = await rig.answered(("glob", {"pattern": "b"}), ("glob", {"pattern": "c"}))
    loops = [(await rig.row(call)).loop_digest for call in newest]
    async with rig.journal() as journal:
        assert list(await calls.recent_loops(journal, rig.turn, 3)) == loops
        assert await calls.recent_loops(journal, rig.turn, 1) == ()


async def test_equal_results_of_the_newest_input_are_told_apart_from_others(rig: ActivityRig) -> None:
    rig.file("a.txt", "one\n" * 3000)
    await rig.open_turn()

    async def results(tool: str, **arguments: Any) -> loop_guard.Recent:
        await rig.run(await rig.called(tool, **arguments))
        async with rig.journal() as journal:
            return await calls.recent_results(journal, rig.turn)

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
        assert [row.id for row in await calls.unsettled(journal, rig.turn)] == [claimed, prepared]
