"""Model steps as rows: who may commit, and what failed so far."""

import pytest

from activities.store import events, generations
from activities.store.generations import Begun, Failure, NewAnswer, NewPart, Over, Parked, Paused, Stored
from tests.activities.scene import BODY, Scene
from workflows.domain.errors import StaleFence, Unavailable
from workflows.domain.events import ModelRetry
from workflows.domain.ids import MessageId, PartId
from workflows.domain.messages import ReasoningPart, TextPart
from workflows.domain.wire import Fence

BUSY = Failure(attempt=1, kind="429", said="busy", pause=0, waited_ms=2000, next_at="2026-01-01T00:00:00Z")
FIRST, SECOND = Fence(1, 1, 1), Fence(1, 1, 2)
ANSWER = NewAnswer(
    id=MessageId("msg_answer"),
    body=BODY,
    parts=(
        NewPart(id=PartId("prt_1"), position=0, body=ReasoningPart(text="a\x00b", details=({"signature": "x"},))),
        NewPart(id=PartId("prt_2"), position=1, body=TextPart(text="lone \ud800")),
    ),
)


async def begin(scene: Scene, fence: Fence, step: int = 1) -> Stored | Over | Parked | Paused | Begun:
    async with scene.journal() as opened:
        return await generations.begin(opened, scene.turn, step, fence)


async def commit(scene: Scene, fence: Fence) -> object:
    async with scene.journal() as opened:
        return await generations.commit(opened, scene.turn, 1, fence, ANSWER)


async def test_an_attempt_registers_and_the_turn_knows_the_step(scene: Scene) -> None:
    await scene.open_turn()
    begun = await begin(scene, FIRST, step=4)
    assert isinstance(begun, Begun) and (begun.failures, begun.waited_ms) == (0, 0)
    turn = (await scene.load()).turn
    assert turn is not None and turn.step == 4


async def test_the_newest_registered_attempt_commits(scene: Scene) -> None:
    await scene.open_turn()
    await begin(scene, FIRST)
    await begin(scene, SECOND)
    with pytest.raises(StaleFence, match="later attempt"):
        await commit(scene, FIRST)
    await commit(scene, SECOND)
    assert await begin(scene, Fence(1, 2, 1)) == Stored(message=ANSWER.id, body=BODY)


async def test_b18_a_connection_that_is_cut_in_a_commit_leaves_all_of_it_or_nothing(scene: Scene) -> None:
    await scene.open_turn()
    await begin(scene, FIRST)
    before = await scene.events()
    with pytest.raises(Unavailable):
        async with scene.journal() as opened:
            await generations.commit(opened, scene.turn, 1, FIRST, ANSWER)
            opened.append()
            opened.write(b"SELECT pg_terminate_backend(pg_backend_pid())")
    assert await scene.events() == before and (await events.verify(scene.database, scene.session)).problem is None
    await commit(scene, FIRST)
    assert isinstance(await begin(scene, FIRST), Stored)


async def test_an_attempt_that_comes_late_does_not_register(scene: Scene) -> None:
    await scene.open_turn()
    await begin(scene, SECOND)
    with pytest.raises(StaleFence, match="later attempt"):
        await begin(scene, FIRST)


async def test_nothing_is_committed_into_an_ended_turn(scene: Scene) -> None:
    await scene.open_turn()
    await begin(scene, FIRST)
    await scene.close()
    assert await commit(scene, FIRST) == Over() and await begin(scene, SECOND, step=2) == Over()


async def test_an_answer_that_came_before_the_stop_was_applied_is_kept(scene: Scene) -> None:
    await scene.open_turn()
    await begin(scene, FIRST)
    await scene.stop()
    await commit(scene, FIRST)
    assert isinstance(await begin(scene, SECOND), Stored) and await begin(scene, SECOND, step=2) == Over()


async def test_a_failure_of_an_overtaken_attempt_or_an_ended_turn_does_not_count(scene: Scene) -> None:
    await scene.open_turn()
    await begin(scene, FIRST)
    await begin(scene, SECOND)
    async with scene.journal() as opened:
        with pytest.raises(StaleFence, match="later attempt"):
            await generations.failed(opened, scene.turn, 1, FIRST, BUSY)
    await scene.stop()
    async with scene.journal() as opened:
        await generations.failed(opened, scene.turn, 1, SECOND, BUSY)
    assert "model.retry" not in await scene.types()


async def test_failures_and_their_pauses_are_summed_over_attempts(scene: Scene) -> None:
    await scene.open_turn()
    await begin(scene, FIRST)
    for attempt, waited in ((1, 2000), (2, 4000)):
        async with scene.journal() as opened:
            again = BUSY.model_copy(update={"attempt": attempt, "waited_ms": waited})
            await generations.failed(opened, scene.turn, 1, FIRST, again)
    begun = await begin(scene, SECOND)
    assert isinstance(begun, Begun) and (begun.failures, begun.waited_ms) == (2, 6000)
    retry = (await scene.events())[-1]
    assert isinstance(retry, ModelRetry) and "busy" not in retry.model_dump_json()
    (seen,) = await scene.database.rows(b"SELECT body FROM note WHERE id = %(id)s", id=retry.note)
    assert seen["body"] == "busy" and (await events.verify(scene.database, scene.session)).problem is None


async def test_a_failure_whose_commit_was_not_acknowledged_counts_once(scene: Scene) -> None:
    await scene.open_turn()
    await begin(scene, FIRST)
    for _ in range(2):
        async with scene.journal() as opened:
            await generations.failed(opened, scene.turn, 1, FIRST, BUSY)
    assert (await scene.types()).count("model.retry") == 1


async def test_nobody_registers_before_the_end_of_a_pause(scene: Scene) -> None:
    await scene.open_turn()
    await begin(scene, FIRST)
    async with scene.journal() as opened:
        await generations.failed(opened, scene.turn, 1, FIRST, BUSY.model_copy(update={"pause": 60.0}))
    early = await begin(scene, SECOND)
    await scene.database.rows(b"UPDATE generation SET next_at = now()")
    assert isinstance(early, Paused) and 50 < early.seconds <= 60 and early.failures == 1
    assert isinstance(await begin(scene, SECOND), Begun)
