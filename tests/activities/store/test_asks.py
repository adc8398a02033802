"""Asks as rows: at most one open per call, listed with the exact effect."""

from pathlib import Path

import psycopg
import pytest

from activities.store import asks, waiting_items
from bench.filler import Filler
from tests.activities.rig import ActivityRig
from workflows.domain.errors import NotFound
from workflows.domain.ids import AskId, SessionId
from workflows.domain.permissions.grants import SavableRule
from workflows.domain.permissions.loop_guard import GUARD_REQUEST
from workflows.domain.permissions.replies import Reply
from workflows.domain.permissions.requests import PermissionAsk, PermissionRequest
from workflows.domain.wire import AskState

ASK = {"permission": {"edit": "ask"}}
WRITE = {"filePath": "sub/a.txt", "content": "x"}
BODY = PermissionAsk(requests=(PermissionRequest(permission="edit", patterns=("sub/a.txt",)),))


async def test_the_inbox_shows_the_oldest_first_with_the_exact_effect(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK)
    calls = await rig.answered(("write", WRITE), ("write", {**WRITE, "filePath": "sub/b.txt"}))
    raised = [await rig.asked(call) for call in calls]
    entries = await waiting_items.pending_asks(rig.database)
    assert [entry.id for entry in entries] == raised
    first = entries[0]
    assert (first.tool, first.arguments, first.directory) == ("write", WRITE, str(rig.project))
    assert first.plan is not None and first.plan.effect.digest == first.digest
    assert first.savable == (SavableRule(permission="edit", patterns=("sub/**",)),)


async def test_an_answered_ask_leaves_the_inbox_but_is_found_by_its_id(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK)
    ask = await rig.asked(await rig.called("write", **WRITE))
    await rig.answer(ask)
    assert await waiting_items.pending_asks(rig.database) == []
    (entry,) = await waiting_items.pending_asks(rig.database, ask=ask)
    assert entry.state is AskState.ANSWERED


async def test_the_inbox_of_a_session_holds_nothing_else(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK)
    await rig.asked(await rig.called("write", **WRITE))
    assert len(await waiting_items.pending_asks(rig.database, session=rig.session)) == 1
    assert await waiting_items.pending_asks(rig.database, session=SessionId("ses_x")) == []


async def test_a_call_has_one_open_ask_at_most(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK)
    call = await rig.called("write", **WRITE)
    await rig.asked(call)
    with pytest.raises(psycopg.errors.UniqueViolation, match="ask_one_open"):
        async with rig.journal() as journal:
            await asks.create(journal, await rig.row(call), AskId("per_2"), (GUARD_REQUEST,), BODY)
    assert (await rig.types()).count("ask.raised") == 1


async def test_only_asks_of_the_present_revision_count_and_the_loop_guards(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK)
    call = await rig.called("write", **WRITE)
    await rig.answer(await rig.asked(call))
    guard = await rig.asked(call, GUARD_REQUEST)
    drifted = (await rig.row(call)).model_copy(update={"revision": 1})
    async with rig.journal() as journal:
        known = await asks.of_call(journal, call)
    assert [ask.id for ask in asks.relevant_to(known, drifted)] == [guard]


async def test_a_grants_answer_to_the_loop_guard_counts_for_its_revision_only(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK)
    first, second = await rig.answered(("write", WRITE), ("write", WRITE))
    await rig.answer(await rig.asked(first, GUARD_REQUEST), Reply.ALWAYS)
    await rig.asked(second, GUARD_REQUEST)
    drifted = (await rig.row(second)).model_copy(update={"revision": 1})
    async with rig.journal() as journal:
        known = await asks.of_call(journal, second)
    assert len(known) == 1 and asks.relevant_to(known, drifted) == []


@pytest.mark.parametrize(
    ("reply", "allowed", "rejected"),
    [(Reply.ONCE, True, False), (Reply.ALWAYS, True, False), (Reply.REJECT, False, True)],
)
async def test_an_answer_allows_or_rejects(rig: ActivityRig, reply: Reply, allowed: bool, rejected: bool) -> None:
    await rig.open_turn(**ASK)
    ask = await rig.asked(await rig.called("write", **WRITE))
    await rig.answer(ask, reply)
    row = await rig.ask_row(ask)
    assert (row.allowed, row.rejected) == (allowed, rejected)


async def test_an_unknown_ask_is_named_with_advice(rig: ActivityRig) -> None:
    with pytest.raises(NotFound, match="There is no ask 'per_x'. `holdfast asks` lists"):
        await asks.session_of(rig.database, AskId("per_x"))
    with pytest.raises(NotFound, match="per_x"):
        await rig.ask_row(AskId("per_x"))


async def test_each_ask_lists_the_patterns_that_its_own_configuration_lets_a_person_save(
    rig: ActivityRig, tmp_path: Path
) -> None:
    await Filler(rig.database, tmp_path).waiting(3)
    entries = await waiting_items.pending_asks(rig.database)
    assert [entry.arguments["command"] for entry in entries] == [f"make part-{number}" for number in range(3)]
    assert [each.patterns for entry in entries for each in entry.savable] == [("make *",)] * 3
    oldest = [entry.id for entry in await waiting_items.pending_asks(rig.database, limit=2)]
    assert oldest == (await waiting_items.pending_ask_ids(rig.database))[:2]
