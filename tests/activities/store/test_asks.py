"""Asks as rows: at most one open per call, listed with the exact effect."""

from pathlib import Path

import psycopg
import pytest

from activities.store import asks, inbox
from bench.filled import Filler
from tests.activities.scene import Scene
from workflows.domain.errors import NotFound
from workflows.domain.ids import AskId, SessionId
from workflows.domain.permissions.replies import Reply
from workflows.domain.permissions.requests import PermissionRequest
from workflows.domain.state import GUARD
from workflows.domain.wire import AskState

ASK = {"permission": {"edit": "ask"}}
WRITE = {"filePath": "sub/a.txt", "content": "x"}
REQUEST = PermissionRequest(permission="edit", patterns=("sub/a.txt",))


async def test_the_inbox_shows_the_oldest_first_with_the_exact_effect(scene: Scene) -> None:
    await scene.open_turn(**ASK)
    calls = await scene.answered(("write", WRITE), ("write", {**WRITE, "filePath": "sub/b.txt"}))
    raised = [await scene.asked(call) for call in calls]
    entries = await inbox.asks(scene.database)
    assert [entry.id for entry in entries] == raised
    first = entries[0]
    assert (first.tool, first.arguments, first.directory) == ("write", WRITE, str(scene.project))
    assert first.plan is not None and first.plan.effect.digest == first.digest
    assert first.savable == ("sub/**",)


async def test_an_answered_ask_leaves_the_inbox_but_is_found_by_its_id(scene: Scene) -> None:
    await scene.open_turn(**ASK)
    ask = await scene.asked(await scene.called("write", **WRITE))
    await scene.answer(ask)
    assert await inbox.asks(scene.database) == []
    (entry,) = await inbox.asks(scene.database, ask=ask)
    assert entry.state is AskState.ANSWERED


async def test_the_inbox_of_a_session_holds_nothing_else(scene: Scene) -> None:
    await scene.open_turn(**ASK)
    await scene.asked(await scene.called("write", **WRITE))
    assert len(await inbox.asks(scene.database, session=scene.session)) == 1
    assert await inbox.asks(scene.database, session=SessionId("ses_x")) == []


async def test_a_call_has_one_open_ask_at_most(scene: Scene) -> None:
    await scene.open_turn(**ASK)
    call = await scene.called("write", **WRITE)
    await scene.asked(call)
    with pytest.raises(psycopg.errors.UniqueViolation, match="ask_one_open"):
        async with scene.journal() as opened:
            await asks.put(opened, await scene.row(call), AskId("per_2"), GUARD, REQUEST)
    assert (await scene.types()).count("ask.raised") == 1


async def test_only_asks_of_the_present_revision_count_and_the_loop_guards(scene: Scene) -> None:
    await scene.open_turn(**ASK)
    call = await scene.called("write", **WRITE)
    await scene.answer(await scene.asked(call))
    guard = await scene.asked(call, GUARD)
    drifted = (await scene.row(call)).model_copy(update={"revision": 1})
    async with scene.journal() as opened:
        known = await asks.of_call(opened, call)
    assert [ask.id for ask in asks.counting(known, drifted)] == [guard]


async def test_what_a_grant_said_of_a_loop_counts_for_its_revision_only(scene: Scene) -> None:
    await scene.open_turn(**ASK)
    first, second = await scene.answered(("write", WRITE), ("write", WRITE))
    await scene.answer(await scene.asked(first, GUARD), Reply.ALWAYS)
    await scene.asked(second, GUARD)
    drifted = (await scene.row(second)).model_copy(update={"revision": 1})
    async with scene.journal() as opened:
        known = await asks.of_call(opened, second)
    assert len(known) == 1 and asks.counting(known, drifted) == []


@pytest.mark.parametrize(
    ("reply", "allowed", "rejected"),
    [(Reply.ONCE, True, False), (Reply.ALWAYS, True, False), (Reply.REJECT, False, True)],
)
async def test_a_row_says_what_its_answer_means(scene: Scene, reply: Reply, allowed: bool, rejected: bool) -> None:
    await scene.open_turn(**ASK)
    ask = await scene.asked(await scene.called("write", **WRITE))
    await scene.answer(ask, reply)
    row = await scene.ask_row(ask)
    assert (row.allowed, row.rejected) == (allowed, rejected)


async def test_an_ask_that_does_not_exist_is_named_with_the_way_out(scene: Scene) -> None:
    with pytest.raises(NotFound, match="There is no ask 'per_x'. `holdfast asks` lists"):
        await asks.session_of(scene.database, AskId("per_x"))
    with pytest.raises(NotFound, match="per_x"):
        await scene.ask_row(AskId("per_x"))


async def test_each_of_many_asks_says_what_its_configuration_lets_be_saved(scene: Scene, tmp_path: Path) -> None:
    await Filler(scene.database, tmp_path).waiting(3)
    entries = await inbox.asks(scene.database)
    assert [entry.arguments["command"] for entry in entries] == [f"make part-{number}" for number in range(3)]
    assert {entry.savable for entry in entries} == {("make *",)}
    oldest = [entry.id for entry in await inbox.asks(scene.database, limit=2)]
    assert oldest == (await inbox.ask_ids(scene.database))[:2]
