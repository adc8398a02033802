"""Model steps as rows: who may commit, and what has failed."""

import pytest

from activities.store import events, generations
from activities.store.generations import BackoffPending, FailedAttempt, GenerationStatus, Suspended, TurnOver
from activities.store.model_answers import NewAnswer, StoredAnswer
from tests.activities.rig import BODY, ActivityRig
from workflows.domain.errors import StaleFence, Unavailable
from workflows.domain.events.generations import ModelRetry
from workflows.domain.fence import Fence
from workflows.domain.generation import Generation
from workflows.domain.ids import PartId
from workflows.domain.messages import NewPart, ReasoningPart, TextPart

BUSY = FailedAttempt(attempt=1, kind="429", message="busy", pause=0, waited_ms=2000, next_at="2026-01-01T00:00:00Z")
FIRST, SECOND = Fence(1, 1, 1, 7), Fence(1, 1, 2, 5)
ANSWER = NewAnswer(
    body=BODY,
    parts=(
        NewPart(id=PartId("prt_1"), position=0, body=ReasoningPart(text="a\x00b", details=({"signature": "x"},))),
        NewPart(id=PartId("prt_2"), position=1, body=TextPart(text="lone \ud800")),
    ),
)


def generation(rig: ActivityRig, step: int = 1) -> Generation:
    return rig.generation(step, f"gen_{step}")


async def begin(
    rig: ActivityRig, fence: Fence, step: int = 1
) -> StoredAnswer | TurnOver | Suspended | BackoffPending | GenerationStatus:
    async with rig.journal() as journal:
        return await generations.begin(journal, generation(rig, step), fence)


async def commit(rig: ActivityRig, fence: Fence) -> object:
    async with rig.journal() as journal:
        return await generations.commit(journal, generation(rig), fence, ANSWER)


async def fail(rig: ActivityRig, fence: Fence, failure: FailedAttempt) -> None:
    async with rig.journal() as journal:
        await generations.record_failure(journal, generation(rig), fence, failure)


async def test_an_attempt_registers_and_the_turn_knows_the_step(rig: ActivityRig) -> None:
    await rig.open_turn()
    begun = await begin(rig, FIRST, step=4)
    assert isinstance(begun, GenerationStatus) and (begun.failures, begun.waited_ms) == (0, 0)
    turn = (await rig.load()).turn
    assert turn is not None and turn.step == 4


async def test_the_newest_registered_attempt_commits(rig: ActivityRig) -> None:
    await rig.open_turn()
    await begin(rig, FIRST)
    await begin(rig, SECOND)
    with pytest.raises(StaleFence, match="has registered"):
        await commit(rig, FIRST)
    await commit(rig, SECOND)
    assert await begin(rig, Fence(1, 2, 1, 3)) == StoredAnswer(body=BODY, text="lone \ud800")


async def test_b18_a_connection_that_is_cut_in_a_commit_leaves_all_of_it_or_nothing(rig: ActivityRig) -> None:
    await rig.open_turn()
    await begin(rig, FIRST)
    before = await rig.events()
    with pytest.raises(Unavailable):
        async with rig.journal() as journal:
            await generations.commit(journal, generation(rig), FIRST, ANSWER)
            journal.append()
            journal.write(b"SELECT pg_terminate_backend(pg_backend_pid())")
    assert await rig.events() == before and (await events.verify(rig.database, rig.session)).problem is None
    await commit(rig, FIRST)
    assert isinstance(await begin(rig, FIRST), StoredAnswer)


async def test_an_attempt_that_comes_late_does_not_register(rig: ActivityRig) -> None:
    await rig.open_turn()
    await begin(rig, SECOND)
    with pytest.raises(StaleFence, match="later attempt"):
        await begin(rig, FIRST)


async def test_an_equal_attempt_of_another_execution_neither_registers_nor_commits(rig: ActivityRig) -> None:
    """A Temporal that was rolled back gives out the same request again."""
    await rig.open_turn()
    await begin(rig, FIRST)
    again = FIRST._replace(execution=8)
    with pytest.raises(StaleFence, match="later attempt"):
        await begin(rig, again)
    with pytest.raises(StaleFence, match="has registered"):
        await commit(rig, again)
    with pytest.raises(StaleFence, match="has registered"):
        await fail(rig, again, BUSY)
    await commit(rig, FIRST)


async def test_nothing_is_committed_into_an_ended_turn(rig: ActivityRig) -> None:
    await rig.open_turn()
    await begin(rig, FIRST)
    await rig.close()
    assert await commit(rig, FIRST) == TurnOver() and await begin(rig, SECOND, step=2) == TurnOver()


async def test_an_answer_that_came_before_the_stop_was_applied_is_kept(rig: ActivityRig) -> None:
    await rig.open_turn()
    await begin(rig, FIRST)
    await rig.stop()
    await commit(rig, FIRST)
    assert isinstance(await begin(rig, SECOND), StoredAnswer) and await begin(rig, SECOND, step=2) == TurnOver()


async def test_a_failure_of_an_overtaken_attempt_or_an_ended_turn_does_not_count(rig: ActivityRig) -> None:
    await rig.open_turn()
    await begin(rig, FIRST)
    await begin(rig, SECOND)
    with pytest.raises(StaleFence, match="has registered"):
        await fail(rig, FIRST, BUSY)
    await rig.stop()
    await fail(rig, SECOND, BUSY)
    assert "model.retry" not in await rig.types()


async def test_failures_and_their_pauses_are_summed_over_attempts(rig: ActivityRig) -> None:
    await rig.open_turn()
    await begin(rig, FIRST)
    for attempt, waited in ((1, 2000), (2, 4000)):
        await fail(rig, FIRST, BUSY.model_copy(update={"attempt": attempt, "waited_ms": waited}))
    begun = await begin(rig, SECOND)
    assert isinstance(begun, GenerationStatus) and (begun.failures, begun.waited_ms) == (2, 6000)
    retry = (await rig.events())[-1]
    assert isinstance(retry, ModelRetry) and "busy" not in retry.model_dump_json()
    (seen,) = await rig.database.rows(b"SELECT body FROM note WHERE id = %(id)s", id=retry.note)
    assert seen["body"] == "busy" and (await events.verify(rig.database, rig.session)).problem is None


async def test_a_note_that_was_changed_afterwards_is_found(rig: ActivityRig) -> None:
    await rig.open_turn()
    await begin(rig, FIRST)
    await fail(rig, FIRST, BUSY)
    await rig.database.rows(b"UPDATE note SET body = '\"idle\"'")
    problem = (await events.verify(rig.database, rig.session)).problem
    assert problem is not None and "the content of gen_1/1 was changed afterwards" in problem


async def test_a_failure_whose_commit_was_not_acknowledged_counts_once(rig: ActivityRig) -> None:
    await rig.open_turn()
    await begin(rig, FIRST)
    for _ in range(2):
        await fail(rig, FIRST, BUSY)
    assert (await rig.types()).count("model.retry") == 1


async def test_a_pause_of_a_clock_that_was_ahead_is_over(rig: ActivityRig) -> None:
    await rig.open_turn()
    await begin(rig, FIRST)
    await fail(rig, FIRST, BUSY.model_copy(update={"pause": 60.0}))
    await rig.database.rows(
        b"UPDATE generation SET paused_at = paused_at + interval '1 hour', next_at = next_at + interval '1 hour'"
    )
    assert isinstance(await begin(rig, SECOND), GenerationStatus)


async def test_no_attempt_registers_before_the_end_of_a_pause(rig: ActivityRig) -> None:
    await rig.open_turn()
    await begin(rig, FIRST)
    await fail(rig, FIRST, BUSY.model_copy(update={"pause": 60.0}))
    early = await begin(rig, SECOND)
    await rig.database.rows(b"UPDATE generation SET next_at = now()")
    assert isinstance(early, BackoffPending) and 50 < early.seconds <= 60 and early.failures == 1
    assert isinstance(await begin(rig, SECOND), GenerationStatus)
