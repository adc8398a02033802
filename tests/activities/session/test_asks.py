"""Asks.open: a question becomes a row, once, and only while it makes sense."""

import pytest

from tests.activities.scene import Scene
from workflows.domain.events import AskRaised
from workflows.domain.permissions.replies import Reply
from workflows.domain.state import GUARD
from workflows.domain.wire import AskOpened, AskState

ASK_EDITS = {"permission": {"edit": "ask"}}
WRITE = {"filePath": "sub/a.txt", "content": "x"}


async def test_an_ask_is_a_row_that_carries_the_digest_of_the_effect(scene: Scene) -> None:
    await scene.open_turn(**ASK_EDITS)
    call = await scene.called("write", **WRITE)
    ask, opened = await scene.ask(call)
    row, effect = await scene.ask_row(ask), await scene.row(call)
    assert (opened.state, row.state, row.digest) == (AskState.OPEN, AskState.OPEN, effect.digest)
    assert AskRaised(ask=ask, call=call, permission="edit", digest=row.digest) in await scene.events()


async def test_the_second_attempt_finds_the_row_of_the_first(scene: Scene) -> None:
    await scene.open_turn(**ASK_EDITS)
    call = await scene.called("write", **WRITE)
    ask = await scene.asked(call)
    assert (await scene.ask(call, ask=ask))[1].state is AskState.OPEN
    await scene.answer(ask)
    assert (await scene.ask(call, ask=ask))[1].state is AskState.ANSWERED
    assert (await scene.types()).count("ask.raised") == 1


async def test_another_id_for_the_same_question_opens_no_second_ask(scene: Scene) -> None:
    await scene.open_turn(**ASK_EDITS)
    call = await scene.called("write", **WRITE)
    ask = await scene.asked(call)
    assert (await scene.ask(call))[1] == AskOpened(state=AskState.OPEN, ask=ask)
    await scene.answer(ask)
    assert (await scene.ask(call))[1] == AskOpened(state=AskState.ANSWERED, ask=ask)
    assert (await scene.types()).count("ask.raised") == 1


@pytest.mark.parametrize("over", ["stopped", "ended", "settled", "rejected"])
async def test_nothing_is_asked_that_nobody_needs_to_know(scene: Scene, over: str) -> None:
    await scene.open_turn(**ASK_EDITS)
    call, other = await scene.answered(("write", WRITE), ("bash", {"command": "true"}))
    match over:
        case "stopped":
            await scene.stop()
        case "ended":
            await scene.close()
        case "settled":
            call = other
            await scene.run(other)
        case "rejected":
            await scene.answer(await scene.asked(call, GUARD), Reply.REJECT)
    raised = (await scene.types()).count("ask.raised")
    assert (await scene.ask(call))[1].state is AskState.CLOSED
    assert (await scene.types()).count("ask.raised") == raised


@pytest.mark.parametrize("about", [{"request": 5}, {"revision": 1}])
async def test_nothing_is_asked_about_what_the_call_is_not_any_more(scene: Scene, about: dict[str, int]) -> None:
    await scene.open_turn(**ASK_EDITS)
    call = await scene.called("write", **WRITE)
    assert (await scene.ask(call, **about))[1].state is AskState.CLOSED
    assert "ask.raised" not in await scene.types()


async def test_a_grant_given_meanwhile_answers_at_once(scene: Scene) -> None:
    await scene.open_turn(**ASK_EDITS)
    first, second = await scene.answered(("write", WRITE), ("write", {**WRITE, "filePath": "sub/b.txt"}))
    settled = await scene.answer(await scene.asked(first), Reply.ALWAYS)
    ask, opened = await scene.ask(second)
    row = await scene.ask_row(ask)
    assert opened.state is AskState.ANSWERED and settled.grant is not None
    assert (row.reply, row.by_grant, row.author) == (Reply.ALWAYS, settled.grant.id, "tester@here")
    told = await scene.database.rows(b"SELECT id FROM ask WHERE state = 'answered' AND delivered_at IS NOT NULL")
    assert [each["id"] for each in told] == [ask]  # by what was returned: nobody has to ring for it


async def test_the_loop_guards_question_is_about_the_tool_and_its_input(scene: Scene) -> None:
    await scene.open_turn()
    call = await scene.called("glob", pattern="*")
    row = await scene.ask_row(await scene.asked(call, GUARD))
    assert (row.body.permission, row.body.patterns, row.body.always) == ("doom_loop", ("glob",), ("glob",))
    assert row.body.metadata == {"tool": "glob", "input": {"pattern": "*"}}
