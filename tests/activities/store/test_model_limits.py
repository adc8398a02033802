"""A model over its limit is tried by one generation, and asked by the others in turn."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError

from activities.model.attempt import Attempts
from activities.model.retry_budget import RetryBudget
from activities.redact import Redactor
from activities.store import generations, model_limits
from activities.store.database import Database
from activities.store.generations import BackoffPending, FailedAttempt, GenerationStatus
from tests.activities.rig import ActivityRig, open_rig
from workflows.domain.events.generations import BEHIND_LIMIT, ModelRetry
from workflows.domain.fence import Fence
from workflows.domain.generation import Generation
from workflows.domain.wire import CloseReason, GenerateRequest

OVER = FailedAttempt(attempt=1, kind="429", message="busy", pause=600.0, waited_ms=1, next_at="2026-01-01T00:00:00Z")


def generation(rig: ActivityRig) -> Generation:
    return rig.generation(1, f"gen_{rig.project.parent.name}")


async def begin(rig: ActivityRig, attempt: int = 1) -> float | None:
    """How long the session's step has to wait; None: it may ask."""
    async with rig.journal() as journal:
        begun = await generations.begin(journal, generation(rig), Fence(1, 1, attempt, attempt))
    if isinstance(begun, BackoffPending):
        return begun.seconds
    assert isinstance(begun, GenerationStatus)
    return None


async def refused(rig: ActivityRig, attempt: int = 1) -> None:
    async with rig.journal() as journal:
        failure = OVER.model_copy(update={"attempt": attempt})
        await generations.record_failure(journal, generation(rig), Fence(1, 1, attempt, attempt), failure)


async def pass_time(database: Database, *, limit: bool) -> None:
    """End the sessions' own pauses, and with `limit` the limit, too."""
    await database.rows(b"UPDATE generation SET next_at = now() WHERE next_at > now()")
    if limit:
        await database.rows(b"UPDATE model_limit SET until = now()")


async def three(database: Database, directory: Path) -> Sequence[ActivityRig]:
    """Open turns; the first one's model has said that it is over its limit for ten minutes."""
    rigs = []
    for name in ("1", "2", "3"):
        (directory / name).mkdir()
        rigs.append(await open_rig(database, directory / name))
        await rigs[-1].open_turn()
    await begin(rigs[0])
    await refused(rigs[0])
    return rigs


async def test_others_wait_for_the_end_of_the_limit_and_in_turn(database: Database, tmp_path: Path) -> None:
    _, second, third = await three(database, tmp_path)
    waits = [await begin(second), await begin(third)]
    (event,) = [event for event in await third.events() if isinstance(event, ModelRetry)]

    assert [round(wait or 0) for wait in waits] == [601, 602]
    assert (event.kind, event.attempt) == (BEHIND_LIMIT, 0)


async def test_one_tries_again_and_the_others_follow_once_it_is_accepted(database: Database, tmp_path: Path) -> None:
    first, second, third = await three(database, tmp_path)
    await begin(second)
    await begin(third)
    await pass_time(database, limit=True)
    assert await begin(second, 2) is None
    held = [await begin(first, 2), await begin(third, 2)]
    assert [wait is not None and 5 <= wait < 8 for wait in held] == [True, True]

    await model_limits.lift(database, generation(second))
    await pass_time(database, limit=False)
    assert [await begin(first, 3), await begin(third, 3)] == [None, None]


async def test_a_limit_that_is_met_again_holds_all_of_them_again(database: Database, tmp_path: Path) -> None:
    first, second, _ = await three(database, tmp_path)
    await begin(second)
    await pass_time(database, limit=True)
    assert await begin(first, 2) is None
    await refused(first, 2)

    await pass_time(database, limit=False)
    assert round(await begin(second, 2) or 0) == 600
    assert await begin(first, 3) is None  # its own pause is over


async def test_an_attempt_that_was_lost_while_it_tried_is_followed_after_a_minute(
    database: Database, tmp_path: Path
) -> None:
    first, second, _ = await three(database, tmp_path)
    await pass_time(database, limit=True)
    assert await begin(first, 2) is None and await begin(second) is not None
    await pass_time(database, limit=False)
    await database.rows(b"UPDATE model_limit SET probe_at = probe_at - interval '2 minutes'")
    assert await begin(second, 2) is None


async def test_another_model_is_not_held(database: Database, tmp_path: Path) -> None:
    _, second, _ = await three(database, tmp_path)
    await database.rows(b"UPDATE turn SET model = 'scripted/other' WHERE id = %(turn)s", turn=second.turn)
    assert await begin(second) is None


async def test_a_person_ends_the_pauses_of_an_open_turn_only_and_with_them_its_limit(
    database: Database, tmp_path: Path
) -> None:
    first, second, _ = await three(database, tmp_path)
    await begin(second)
    await first.stop()
    await first.close(CloseReason.STOPPED)
    assert [await end_pauses(first), await begin(second, 2) is not None] == [False, True]
    assert [await end_pauses(second), await begin(second, 3)] == [True, None]


async def end_pauses(rig: ActivityRig) -> bool:
    async with rig.journal() as journal:
        return await generations.end_pauses(journal)


async def test_one_that_has_not_asked_gives_way_at_once(database: Database, tmp_path: Path) -> None:
    first, second, _ = await three(database, tmp_path)
    await pass_time(database, limit=True)
    assert await begin(first, 2) is None
    await model_limits.yield_turn(database, generation(first))
    assert await begin(second) is None


async def test_a_frozen_one_that_tries_holds_the_others_and_blocks_none(database: Database, tmp_path: Path) -> None:
    first, second, _ = await three(database, tmp_path)
    await pass_time(database, limit=True)
    async with first.journal() as frozen:
        await generations.begin(frozen, generation(first), Fence(1, 1, 2, 2))
        assert await begin(second) is not None


async def test_one_that_begins_again_and_again_without_asking_is_followed_after_a_minute(
    database: Database, tmp_path: Path
) -> None:
    first, second, _ = await three(database, tmp_path)
    await pass_time(database, limit=True)
    await begin(first, 2)
    await database.rows(b"UPDATE model_limit SET probe_at = probe_at - interval '61 s'")
    assert [await begin(first, 3), await begin(second)] == [None, None]


async def test_a_clock_that_was_ahead_holds_nobody(database: Database, tmp_path: Path) -> None:
    first, second, third = await three(database, tmp_path)
    ahead = b"UPDATE model_limit SET noted_at = now() + interval '1 h', until = now() + interval '2 h', "
    await database.rows(ahead + b"probe = 'gen_x', probe_at = now() + interval '1 h'")
    assert await begin(second) is None
    held = await begin(third)
    assert held is not None and held < 10


async def test_one_that_has_waited_for_a_day_is_held_no_more(database: Database, tmp_path: Path) -> None:
    _, second, third = await three(database, tmp_path)
    await begin(second)
    await database.rows(b"UPDATE generation SET begun_at = begun_at - interval '25 h', next_at = now()")
    assert await begin(second, 2) is None and await begin(third) is not None


async def test_one_that_fails_before_it_asks_gives_way(database: Database, tmp_path: Path) -> None:
    """As behind what others have reserved of its budget, who may wait for it."""
    first, second, _ = await three(database, tmp_path)
    await pass_time(database, limit=True)
    attempts = Attempts(database, Redactor(), RetryBudget(60.0))

    async def fail(request: GenerateRequest) -> None:
        async with attempts.start(request, generation(first)) as attempt:
            async with attempt.registration() as journal:
                assert await attempt.begin(journal) is None
            raise ApplicationError("what is left of the budget is reserved")

    step = GenerateRequest(**first.request_fields(), turn=first.turn, step=1, generation=generation(first).id)
    with pytest.raises(ApplicationError):
        await first.act(fail, step)
    assert await begin(second) is None
