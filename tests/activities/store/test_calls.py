"""The ledger: a call's life in rows and events."""

import pytest

from activities.store import calls, events
from tests.activities.scene import Scene
from workflows.domain.errors import NotFound
from workflows.domain.events import CallDrifted, CallFinished, CallPrepared
from workflows.domain.ids import PartId
from workflows.domain.messages import CallState, Outcome
from workflows.domain.permissions.replies import Reply
from workflows.domain.wire import Fence

ODD = ["a\x00b", "lone \ud800 surrogate", "\x1b[2K\r", "emoji 🙂"]


async def test_a_prepared_call_is_named_by_seal_and_digest_and_not_by_its_contents(scene: Scene) -> None:
    await scene.open_turn()
    call = await scene.called("write", filePath="a.txt", content="a secret")
    (prepared,) = [event for event in await scene.events() if isinstance(event, CallPrepared)]
    assert (prepared.call, prepared.digest) == (call, (await scene.row(call)).digest)
    assert prepared.recovery == "reconcilable" and "a secret" not in prepared.model_dump_json()


@pytest.mark.parametrize("text", ODD)
async def test_any_text_is_kept_as_it_is(scene: Scene, text: str) -> None:
    await scene.open_turn()
    call = await scene.called("bash", command=text)
    async with scene.journal() as opened:
        calls.settle(opened, await calls.lock(opened, call), CallState.FAILED, Outcome(output=text, error=True))
    row = await scene.row(call)
    assert row.arguments == {"command": text} and row.outcome == Outcome(output=text, error=True)
    assert (await events.verify(scene.database, scene.session)).problem is None


async def test_calls_of_a_step_keep_the_order_of_the_answer(scene: Scene) -> None:
    await scene.open_turn()
    prepared = await scene.answered(*[("glob", {"pattern": str(number)}) for number in range(12)])
    async with scene.journal() as opened:
        assert [row.id for row in await calls.of_step(opened, scene.turn, 1)] == prepared


async def test_the_loop_guard_remembers_the_last_two_calls_before_a_step(scene: Scene) -> None:
    await scene.open_turn()
    await scene.called("glob", pattern="a")
    newest = await scene.answered(("glob", {"pattern": "b"}), ("glob", {"pattern": "c"}))
    loops = [(await scene.row(call)).loop for call in newest]
    async with scene.journal() as opened:
        assert list(await calls.recent_loops(opened, scene.turn, 3)) == loops
        assert await calls.recent_loops(opened, scene.turn, 1) == ()


async def test_unsettled_are_those_without_an_outcome(scene: Scene) -> None:
    await scene.open_turn()
    done, claimed, prepared = await scene.answered(*[("glob", {"pattern": "*"})] * 3)
    await scene.run(done)
    await scene.claim(claimed)
    async with scene.journal() as opened:
        assert [row.id for row in await calls.unsettled(opened, scene.turn)] == [claimed, prepared]


@pytest.mark.parametrize(("feedback", "counts"), [(None, True), ("use b.txt", False)])
async def test_only_a_rejection_without_a_word_ends_a_turn(scene: Scene, feedback: str | None, counts: bool) -> None:
    await scene.open_turn(permission={"edit": "ask"})
    call = await scene.called("write", filePath="a.txt", content="x")
    await scene.answer(await scene.asked(call), Reply.REJECT, feedback=feedback)
    async with scene.journal() as opened:
        assert await calls.any_rejected(opened, scene.turn) is counts


async def test_drift_counts_revisions_and_keeps_both_digests(scene: Scene) -> None:
    await scene.open_turn()
    call = await scene.called("write", filePath="a.txt", content="x")
    before = await scene.row(call)
    async with scene.journal() as opened:
        drifted = calls.drift(opened, await calls.lock(opened, call), None)
    assert drifted == await scene.row(call)
    assert (drifted.revision, drifted.plan, drifted.digest) == (1, None, None)
    assert (await scene.events())[-1] == CallDrifted(call=call, before=before.digest, digest=None)


async def test_the_holder_is_the_newest_fence_of_the_newest_chain(scene: Scene) -> None:
    await scene.open_turn()
    call, fence = await scene.called("glob", pattern="*"), scene.fence()
    assert await calls.newest(scene.database, call) == (CallState.PREPARED, None)
    await scene.claim(call, fence)
    assert await calls.newest(scene.database, call) == (CallState.CLAIMED, fence)
    scene.chain += 1
    await scene.load()
    assert await calls.newest(scene.database, call) == (CallState.CLAIMED, None)


async def test_an_outcome_is_named_by_its_seal_and_carries_the_effects_digest(scene: Scene) -> None:
    await scene.open_turn()
    call = await scene.called("glob", pattern="*")
    await scene.run(call)
    finished = (await scene.events())[-1]
    assert isinstance(finished, CallFinished)
    assert (finished.state, finished.digest) == ("done", (await scene.row(call)).digest)


async def test_the_newest_list_of_todos_is_kept_beside(scene: Scene) -> None:
    await scene.open_turn()
    for content in ("first", "second"):
        todos = [{"content": content, "status": "pending", "priority": "low"}]
        await scene.run(await scene.called("todowrite", todos=todos))
    async with scene.journal() as opened:
        row = await opened.row(b"SELECT items FROM todo WHERE session = %(session)s", session=scene.session)
    assert row is not None and [item["content"] for item in row["items"]] == ["second"]


async def test_the_context_of_a_call_is_its_session_and_its_turns_snapshot(scene: Scene) -> None:
    await scene.open_turn(tool_output={"max_lines": 7})
    _, found = await calls.read(scene.database, await scene.called("glob", pattern="*"))
    assert (found.directory, found.environment) == (str(scene.project), {})
    snapshot = await scene.database.snapshots.get(scene.database, found.snapshot)
    assert snapshot.config.tool_output.max_lines == 7


async def test_a_call_that_does_not_exist_is_named(scene: Scene) -> None:
    unknown = PartId("prt_x")
    for ask in (calls.read, calls.newest):
        with pytest.raises(NotFound, match="no call 'prt_x'"):
            await ask(scene.database, unknown)
    async with scene.journal() as opened:
        with pytest.raises(NotFound, match="no call 'prt_x'"):
            await calls.lock(opened, unknown)


async def test_a_fence_is_compared_chain_first_then_schedule_then_attempt() -> None:
    assert Fence(1, 9, 9) < Fence(2, 1, 1) < Fence(2, 2, 1) < Fence(2, 2, 2)
