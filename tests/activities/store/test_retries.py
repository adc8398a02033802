"""Retries as rows: accepted after a failed turn, taken by a turn that continues it."""

import pytest

from activities.store import retries, turns, work
from activities.store.retries import RetryRequest
from tests.activities.rig import ActivityRig
from workflows.domain.errors import Conflict
from workflows.domain.events.turns import RetryAccepted, RetryWithdrawn, TurnOpened
from workflows.domain.ids import RetryId
from workflows.domain.prompt import PromptMode
from workflows.domain.wire import CloseReason


async def retry(rig: ActivityRig, name: str = "rty_1", model: str | None = None) -> RetryRequest:
    async with rig.journal() as journal:
        return await retries.accept(journal, RetryId(name), model)


async def failed(rig: ActivityRig) -> None:
    """A finally failed turn."""
    await rig.open_turn()
    await rig.close(CloseReason.FAILED, error="no such model")


async def test_a_failed_turn_is_retried_by_a_new_turn_without_a_prompt(rig: ActivityRig) -> None:
    await failed(rig)
    accepted = await retry(rig, model="other/model")
    journal = (await rig.load()).turn
    events = await rig.events()
    assert accepted.failed_turn == rig.turn and journal is not None and journal.number == 2
    assert RetryAccepted(retry=accepted.retry, turn=rig.turn, model="other/model") in events
    (_, again) = [event for event in events if isinstance(event, TurnOpened)]
    assert (again.retry, again.model) == (accepted.retry, "other/model")
    assert [event.type for event in events].count("prompt.accepted") == 1


async def test_without_a_name_the_model_stays_that_of_the_failed_turn_over_several_retries(rig: ActivityRig) -> None:
    await failed(rig)
    models = []
    for number, named in enumerate((None, "other/model", None)):
        models.append((await retry(rig, f"rty_{number}", named)).model)
        journal = (await rig.load()).turn
        assert journal is not None
        rig.turn = journal.id
        await rig.close(CloseReason.FAILED, error="again")
    assert models == ["scripted/model", "other/model", "other/model"]


async def test_a_retry_keeps_the_agent_that_the_failed_turns_prompt_named(rig: ActivityRig) -> None:
    rig.file("opencode.json", '{"agent": {"tester": {}}}')
    await rig.prompt(agent="tester", model="scripted/model")
    agents = []
    for number in range(2):
        loaded = (await rig.load()).turn
        assert loaded is not None
        rig.turn = loaded.id
        await rig.close(CloseReason.FAILED, error="again")
        agents.append((await retry(rig, f"rty_{number}")).agent)
    opened = [event.agent for event in await rig.events() if isinstance(event, TurnOpened)]
    named = [event.agent for event in await rig.events() if isinstance(event, RetryAccepted)]
    assert agents == opened == named == ["tester", "tester"]


async def test_the_same_retry_again_changes_nothing(rig: ActivityRig) -> None:
    await failed(rig)
    first = await retry(rig)
    assert await retry(rig, model="other/model") == first
    assert (await rig.types()).count("retry.accepted") == 1


@pytest.mark.parametrize("reason", [CloseReason.DONE, CloseReason.STOPPED])
async def test_a_turn_that_did_not_fail_is_not_retried(rig: ActivityRig, reason: CloseReason) -> None:
    await rig.open_turn()
    await rig.close(reason)
    with pytest.raises(Conflict, match=f"did not fail, it ended as '{reason}'"):
        await retry(rig)


async def test_an_open_turn_no_turn_and_an_ended_session_are_not_retried(rig: ActivityRig) -> None:
    with pytest.raises(Conflict, match="has had no turn yet"):
        await retry(rig)
    await rig.open_turn()
    with pytest.raises(Conflict, match="turn 1 is still open"):
        await retry(rig)
    await rig.end()
    with pytest.raises(Conflict, match="has ended"):
        await retry(rig)


async def test_a_subagents_turn_is_not_retried(rig: ActivityRig) -> None:
    await failed(rig)
    await rig.database.rows(b"UPDATE session SET parent = id")
    with pytest.raises(Conflict, match="it is a subagent's"):
        await retry(rig)


async def test_a_retry_is_refused_while_work_waits(rig: ActivityRig) -> None:
    await failed(rig)
    await rig.prompt()
    with pytest.raises(Conflict, match="it goes on already"):
        await retry(rig)


async def test_a_prompt_that_came_after_the_retry_joins_its_turn(rig: ActivityRig) -> None:
    await failed(rig)
    await retry(rig)
    later = await rig.prompt("And hurry.", mode=PromptMode.QUEUE)
    with pytest.raises(Conflict, match="it goes on already"):
        await retry(rig, "rty_2")
    await rig.load()
    async with rig.journal() as journal:
        assert [item.id for item in await work.untaken(journal)] == [later]
        assert await turns.open_turn(journal) is not None


async def test_a_stop_withdraws_a_retry_that_no_turn_has_taken(rig: ActivityRig) -> None:
    await failed(rig)
    await retry(rig)
    await rig.stop()
    assert RetryWithdrawn(retry=RetryId("rty_1"), reason="stopped") in await rig.events()
    assert (await rig.load()).turn is None
