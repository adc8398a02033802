"""Asks.open: a question becomes a row, once, and only while it makes sense."""

from typing import Any

import pytest

from activities.store import waiting_items
from tests.activities.rig import ActivityRig
from workflows.domain.events.asks import AskRaised
from workflows.domain.ids import AskId
from workflows.domain.permissions.loop_guard import GUARD_REQUEST
from workflows.domain.permissions.replies import Reply
from workflows.domain.permissions.requests import PermissionAsk
from workflows.domain.wire import AskResult, AskState

ASK_EDITS = {"permission": {"edit": "ask"}}
WRITE = {"filePath": "sub/a.txt", "content": "x"}


async def test_an_ask_is_a_row_that_carries_the_digest_of_the_effect(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK_EDITS)
    call = await rig.called("write", **WRITE)
    ask, journal = await rig.ask(call)
    row, effect = await rig.ask_row(ask), await rig.row(call)
    assert (journal.state, row.state, row.digest) == (AskState.OPEN, AskState.OPEN, effect.digest)
    assert AskRaised(ask=ask, call=call, permissions=("edit",), digest=row.digest) in await rig.events()


async def test_all_that_is_asked_about_an_effect_is_one_ask(rig: ActivityRig) -> None:
    await rig.open_turn(permission={"edit": "ask", "bash": "ask"})
    call = await rig.called("bash", command="rm -rf build && mkdir build")
    ask = await rig.asked(call, GUARD_REQUEST, 0, 1)
    row, effect = await rig.ask_row(ask), await rig.row(call)
    (entry,) = await waiting_items.pending_asks(rig.database)
    assert isinstance(row.body, PermissionAsk) and row.body.requests[1:] == effect.asks
    assert entry.reasons == (
        "the same call was made again and again, which may be a loop",
        "the rule 'doom_loop: *' says ask",
        "the project's rule 'bash: *' says ask",
        "the project's rule 'edit: *' says ask",
    )
    assert AskRaised(ask=ask, call=call, permissions=("doom_loop", "bash", "edit"), digest=row.digest) in (
        await rig.events()
    )


async def test_the_second_attempt_finds_the_row_of_the_first(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK_EDITS)
    call = await rig.called("write", **WRITE)
    ask = await rig.asked(call)
    assert (await rig.ask(call, ask=ask))[1].state is AskState.OPEN
    await rig.answer(ask)
    assert (await rig.ask(call, ask=ask))[1].state is AskState.ANSWERED
    assert (await rig.types()).count("ask.raised") == 1


async def test_another_id_for_the_same_question_opens_no_second_ask(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK_EDITS)
    call = await rig.called("write", **WRITE)
    ask = await rig.asked(call)
    assert (await rig.ask(call))[1] == AskResult(state=AskState.OPEN, ask=ask)
    await rig.answer(ask)
    assert (await rig.ask(call))[1] == AskResult(state=AskState.ANSWERED, ask=ask)
    assert (await rig.types()).count("ask.raised") == 1


@pytest.mark.parametrize("over", ["stopped", "ended", "settled", "rejected"])
async def test_no_needless_question_is_opened(rig: ActivityRig, over: str) -> None:
    await rig.open_turn(**ASK_EDITS)
    call, other = await rig.answered(("write", WRITE), ("bash", {"command": "true"}))
    match over:
        case "stopped":
            await rig.stop()
        case "ended":
            await rig.close()
        case "settled":
            call = other
            await rig.run(other)
        case "rejected":
            await rig.answer(await rig.asked(call, GUARD_REQUEST), Reply.REJECT)
    raised = (await rig.types()).count("ask.raised")
    assert (await rig.ask(call))[1].state is AskState.CLOSED
    assert (await rig.types()).count("ask.raised") == raised


@pytest.mark.parametrize("about", [{"requests": (0, 5)}, {"revision": 1}])
async def test_no_question_is_opened_about_an_outdated_plan(rig: ActivityRig, about: dict[str, Any]) -> None:
    await rig.open_turn(**ASK_EDITS)
    call = await rig.called("write", **WRITE)
    assert (await rig.ask(call, **about))[1].state is AskState.CLOSED
    assert "ask.raised" not in await rig.types()


async def test_a_grant_given_meanwhile_answers_immediately(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK_EDITS)
    first, second = await rig.answered(("write", WRITE), ("write", {**WRITE, "filePath": "sub/b.txt"}))
    settled = await rig.answer(await rig.asked(first), Reply.ALWAYS)
    pending = await rig.signals()
    ask, journal = await rig.ask(second)
    row = await rig.ask_row(ask)
    assert journal.state is AskState.ANSWERED
    assert (row.reply, row.by_grant, row.author) == (Reply.ALWAYS, settled.grants[0].id, "tester@here")
    assert await rig.signals() == pending  # the result has told the workflow


async def test_the_loop_guards_question_is_about_the_tool_and_its_input(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await rig.called("glob", pattern="*")
    row = await rig.ask_row(await rig.asked(call, GUARD_REQUEST))
    assert isinstance(row.body, PermissionAsk)
    (asked,) = row.body.requests
    assert (asked.permission, asked.patterns, asked.always) == ("doom_loop", ("glob",), ("glob",))
    assert asked.metadata == {"tool": "glob", "input": {"pattern": "*"}}


async def forge(rig: ActivityRig, ask: AskId, reply: Reply) -> None:
    """Somebody who may write to the database answers an ask; no event says so."""
    async with rig.database.transaction() as connection:
        await connection.execute(
            b"UPDATE ask SET state = 'answered', reply = %s, author = 'tester@here', settled_at = now() WHERE id = %s",
            [reply, ask],
        )


@pytest.mark.parametrize("reply", [Reply.ONCE, Reply.REJECT])
async def test_an_answer_that_only_the_row_has_is_none_for_who_asks_again(rig: ActivityRig, reply: Reply) -> None:
    await rig.open_turn(**ASK_EDITS)
    call = await rig.called("write", filePath="a.txt", content="x")
    ask = await rig.asked(call)
    await forge(rig, ask, reply)
    assert (await rig.ask(call))[1] == AskResult(state=AskState.OPEN, ask=ask)
    assert (await rig.types())[-1] == "ask.reopened" and (await rig.ask_row(ask)).state is AskState.OPEN


@pytest.mark.parametrize("reply", [Reply.ONCE, Reply.REJECT])
async def test_an_answer_that_only_the_row_has_is_none_for_a_load(rig: ActivityRig, reply: Reply) -> None:
    await rig.open_turn(**ASK_EDITS)
    ask = await rig.asked(await rig.called("write", filePath="a.txt", content="x"))
    await forge(rig, ask, reply)
    turn = (await rig.load()).turn
    assert turn is not None and turn.answer is not None and not turn.rejected
    (call,) = turn.answer.calls
    assert (call.ask, call.requests, call.answered) == (ask, (0,), ())


async def test_an_answer_that_only_the_row_has_is_none_at_the_end_of_its_turn(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK_EDITS)
    ask = await rig.asked(await rig.called("write", filePath="a.txt", content="x"))
    await forge(rig, ask, Reply.ONCE)
    await rig.close()
    row = await rig.ask_row(ask)
    assert (row.state, row.reply) == (AskState.CLOSED, None)
    assert [each for each in await rig.types() if each.startswith("a")][-2:] == ["ask.reopened", "ask.closed"]
