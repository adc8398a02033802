"""Compactions that a person asks for, as rows."""

import pytest

from activities.store import compaction_requests, retries
from tests.activities.rig import ActivityRig
from tests.activities.store.test_compactions import answered, store, summary
from workflows.domain.errors import Conflict
from workflows.domain.events.compactions import CompactionTaken, CompactionWithdrawn
from workflows.domain.ids import CompactionId, RetryId
from workflows.domain.wire import CloseReason

FIRST, SECOND = CompactionId("cpt_1"), CompactionId("cpt_2")


async def ask(rig: ActivityRig, compaction: CompactionId = FIRST, focus: str | None = None) -> None:
    async with rig.journal() as journal:
        await compaction_requests.accept(journal, compaction, focus)


async def test_an_idle_session_gets_a_turn_that_only_compacts(rig: ActivityRig) -> None:
    newest = await answered(rig)
    before = rig.turn
    await rig.close()
    await ask(rig, focus="the API")
    opened = (await rig.load()).turn
    assert opened is not None and (opened.compacts, opened.only_compacts) == (True, True)
    rig.turn = opened.id
    async with rig.journal() as journal:
        (found,) = await compaction_requests.take_undone(journal, rig.turn)
    assert (found.id, found.focus, found.taken) == (FIRST, "the API", True)

    await store(rig, summary(rig, newest).model_copy(update={"turn": before}))

    loaded = (await rig.load()).turn
    assert loaded is not None and (loaded.compacts, loaded.only_compacts) == (False, True)
    assert [event for event in await rig.events() if isinstance(event, CompactionTaken)] == [
        CompactionTaken(compaction=FIRST, turn=rig.turn)
    ]


async def test_an_open_turn_takes_it_and_goes_on(rig: ActivityRig) -> None:
    await answered(rig)
    await ask(rig)
    async with rig.journal() as journal:
        (found,) = await compaction_requests.take_undone(journal, rig.turn)
    loaded = (await rig.load()).turn
    assert not found.taken and loaded is not None and (loaded.compacts, loaded.only_compacts) == (True, False)


async def test_one_is_asked_for_at_a_time_and_where_there_is_an_answer(rig: ActivityRig) -> None:
    with pytest.raises(Conflict, match="no answer yet"):
        await ask(rig)
    await answered(rig)
    await ask(rig)
    await ask(rig)
    with pytest.raises(Conflict, match="asked for already"):
        await ask(rig, SECOND)
    await rig.stop()
    assert CompactionWithdrawn(compaction=FIRST, reason="stopped") in await rig.events()
    await rig.end()
    with pytest.raises(Conflict, match="has ended"):
        await ask(rig, SECOND)


async def test_a_failed_turn_is_retried_behind_a_compaction(rig: ActivityRig) -> None:
    await answered(rig)
    failed = rig.turn
    await rig.close(CloseReason.FAILED, error="too long")
    await ask(rig)
    opened = (await rig.load()).turn
    assert opened is not None
    rig.turn = opened.id
    await rig.close()
    async with rig.journal() as journal:
        assert (await retries.accept(journal, RetryId("rty_1"))).failed_turn == failed
