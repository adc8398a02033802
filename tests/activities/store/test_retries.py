"""Retries as rows: accepted where the newest turn has failed, taken by a turn that goes on from there."""

import pytest

from activities.store import bells, prompts, retries, turns
from activities.store.prompts import Mode
from activities.store.retries import Retried
from tests.activities.scene import Scene
from workflows.domain.errors import Conflict
from workflows.domain.events import RetryAccepted, RetryWithdrawn, TurnOpened
from workflows.domain.ids import RetryId
from workflows.domain.wire import CloseReason


async def retry(scene: Scene, name: str = "rty_1", model: str | None = None) -> Retried:
    async with scene.journal() as opened:
        return await retries.accept(opened, RetryId(name), model)


async def failed(scene: Scene) -> None:
    """A turn that has failed for good."""
    await scene.open_turn()
    await scene.close(CloseReason.FAILED, error="no such model")


async def test_a_failed_turn_is_taken_up_by_one_of_its_own_without_a_prompt(scene: Scene) -> None:
    await failed(scene)
    accepted = await retry(scene, model="other/model")
    opened = (await scene.load()).turn
    events = await scene.events()
    assert accepted.failed == scene.turn and opened is not None and opened.number == 2
    assert RetryAccepted(retry=accepted.retry, turn=scene.turn, model="other/model") in events
    (_, again) = [event for event in events if isinstance(event, TurnOpened)]
    assert (again.retry, again.model) == (accepted.retry, "other/model")
    assert [event.type for event in events].count("prompt.accepted") == 1


async def test_without_a_name_the_model_stays_that_of_the_failed_turn_over_several_retries(scene: Scene) -> None:
    await failed(scene)
    models = []
    for number, named in enumerate((None, "other/model", None)):
        models.append((await retry(scene, f"rty_{number}", named)).model)
        opened = (await scene.load()).turn
        assert opened is not None
        scene.turn = opened.id
        await scene.close(CloseReason.FAILED, error="again")
    assert models == ["scripted/model", "other/model", "other/model"]


async def test_the_same_retry_again_changes_nothing(scene: Scene) -> None:
    await failed(scene)
    first = await retry(scene)
    assert await retry(scene, model="other/model") == first
    assert (await scene.types()).count("retry.accepted") == 1


@pytest.mark.parametrize("reason", [CloseReason.DONE, CloseReason.STOPPED])
async def test_a_turn_that_did_not_fail_is_not_retried(scene: Scene, reason: CloseReason) -> None:
    await scene.open_turn()
    await scene.close(reason)
    with pytest.raises(Conflict, match=f"did not fail, it ended as '{reason}'"):
        await retry(scene)


async def test_an_open_turn_no_turn_and_an_ended_session_are_not_retried(scene: Scene) -> None:
    with pytest.raises(Conflict, match="has had no turn yet"):
        await retry(scene)
    await scene.open_turn()
    with pytest.raises(Conflict, match="turn 1 is still open"):
        await retry(scene)
    await scene.end()
    with pytest.raises(Conflict, match="has ended"):
        await retry(scene)


async def test_a_subagents_turn_is_its_parents_to_take_up(scene: Scene) -> None:
    await failed(scene)
    await scene.database.rows(b"UPDATE session SET parent = id")
    with pytest.raises(Conflict, match="it is a subagent's, and goes on with"):
        await retry(scene)


async def test_what_waits_already_goes_first(scene: Scene) -> None:
    await failed(scene)
    await scene.prompt()
    with pytest.raises(Conflict, match="it goes on already"):
        await retry(scene)


async def test_a_prompt_that_came_after_the_retry_joins_its_turn(scene: Scene) -> None:
    await failed(scene)
    await retry(scene)
    later = await scene.prompt("And hurry.", mode=Mode.QUEUE)
    with pytest.raises(Conflict, match="it goes on already"):
        await retry(scene, "rty_2")
    await scene.load()
    async with scene.journal() as opened:
        assert await prompts.untaken(opened) == [later] and await turns.open_turn(opened) is not None


async def test_a_stop_withdraws_a_retry_that_no_turn_has_taken(scene: Scene) -> None:
    await failed(scene)
    await retry(scene)
    assert [waiting.working for waiting in await bells.waiting(scene.database, quiet=0)] == [True]
    await scene.stop()
    assert RetryWithdrawn(retry=RetryId("rty_1"), reason="stopped") in await scene.events()
    assert (await scene.load()).turn is None and await bells.waiting(scene.database, quiet=0) == []
