"""Compactions as rows: when a summary comes too late, what is remembered of a failed one, and what a check finds."""

import pytest

from activities.new_ids import new_id
from activities.store import compactions, events, generations
from activities.store.compactions import CompactionTry, NewCompaction, NewFailure
from activities.store.model_answers import NewAnswer
from tests.activities.rig import BODY, ActivityRig
from workflows.domain.errors import StaleFence
from workflows.domain.generation import Generation, Purpose
from workflows.domain.ids import GenerationId, MessageId, Prefix, answer_id
from workflows.domain.turn_state import MAX_COMPACTIONS


async def answered(rig: ActivityRig) -> MessageId:
    """Open a turn and store an answer of its first step."""
    await rig.open_turn()
    step = rig.generation(1)
    await rig.store_answer(step, NewAnswer(body=BODY))
    return step.message


def tried(rig: ActivityRig, **changed: object) -> CompactionTry:
    fields = {"turn": rig.turn, "step": 2, "model": "scripted/model", "tokens": 800}
    return CompactionTry.model_validate(fields | changed)


def summary(rig: ActivityRig, newest: MessageId) -> NewCompaction:
    return NewCompaction(tried=tried(rig), turn=rig.turn, step=1, newest=newest, after=10)


async def store(rig: ActivityRig, outcome: NewCompaction | NewFailure, *, ends: bool = False) -> Generation:
    """An attempt at a compaction; `ends`: the turn does before its answer comes."""
    generation = Generation(id=GenerationId(new_id(Prefix.GENERATION)), purpose=Purpose.COMPACTION)
    fence = rig.fence()
    async with rig.journal() as journal:
        await generations.begin(journal, generation, fence)
    if ends:
        await rig.close()
    async with rig.journal() as journal:
        await generations.commit(journal, generation, fence, NewAnswer(body=BODY, compaction=outcome))
    return generation


@pytest.mark.parametrize("ends", [False, True])
async def test_a_summary_that_comes_after_its_turn_is_only_paid(rig: ActivityRig, ends: bool) -> None:
    newest = await answered(rig)
    generation = await store(rig, summary(rig, newest), ends=ends)

    found = await compactions.newest(rig.database, rig.session)
    types = await rig.types()
    assert (found is None) == ends and types.count("context.compacted") == (not ends)
    assert types.count("message.completed") == 2 and answer_id(generation.id) != newest


async def test_an_answer_to_the_context_before_a_summary_comes_too_late(rig: ActivityRig) -> None:
    newest = await answered(rig)
    step, fence = rig.generation(2), rig.fence()
    async with rig.journal() as journal:
        await generations.begin(journal, step, fence)
    await store(rig, summary(rig, newest))

    with pytest.raises(StaleFence, match="was summed up meanwhile"):
        async with rig.journal() as journal:
            await generations.commit(journal, step, fence, NewAnswer(body=BODY))


async def test_a_changed_mark_is_found(rig: ActivityRig) -> None:
    await store(rig, summary(rig, await answered(rig)))
    assert not (await events.verify(rig.database, rig.session)).problem
    await rig.database.rows(b"UPDATE compaction SET step = 2")
    problem = (await events.verify(rig.database, rig.session)).problem
    assert problem is not None and "marks of its summaries" in problem


async def test_a_load_counts_the_tries_of_the_open_step(rig: ActivityRig) -> None:
    await answered(rig)
    fence = rig.fence()
    async with rig.journal() as journal:
        await generations.begin(journal, rig.generation(2), fence)
    counts = []
    for final in (False, True):
        await store(rig, NewFailure(tried=tried(rig), reason="cut", final=final))
        loaded = (await rig.load()).turn
        counts.append(loaded and loaded.compactions)
    assert counts == [1, MAX_COMPACTIONS]


async def test_a_failure_holds_until_the_context_has_grown_or_the_model_changed(rig: ActivityRig) -> None:
    await answered(rig)
    await store(rig, NewFailure(tried=tried(rig), reason="cut"))

    found = await compactions.newest_try(rig.database, rig.session)

    assert found is not None and found.holds_for("scripted/model", 899)
    assert not found.holds_for("scripted/model", 900) and not found.holds_for("other/model", 800)
    assert not (await events.verify(rig.database, rig.session)).problem
