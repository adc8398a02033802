"""The claim: who may begin an effect, and what is recorded before it."""

from collections.abc import Awaitable, Callable
from typing import TypeGuard

import pytest

from activities.calls.claim import CallClaim, Claimed
from activities.new_ids import new_id
from activities.store import grants, prompts, sessions
from activities.store.events import verify
from activities.store.journal import WORKER, session_journal
from activities.store.sessions import NewSession
from tests.activities.rig import HERE, PERSON, ActivityRig
from workflows.domain.actor import Actor
from workflows.domain.errors import NotFound, StaleFence
from workflows.domain.events.calls import CallClaimed, CallDrifted, RecordedDecision
from workflows.domain.fence import Fence
from workflows.domain.ids import GrantId, MessageId, PartId, Prefix, SessionId
from workflows.domain.messages import AgentPart, CallState
from workflows.domain.open_call import CallResult, CallResultState
from workflows.domain.permissions.loop_guard import GUARD_REQUEST
from workflows.domain.permissions.replies import AskState, Reply
from workflows.domain.permissions.rules import Action
from workflows.domain.prompt import Prompt
from workflows.domain.wire import RunRequest

SETTLED, REJECTED = CallResult(state=CallResultState.SETTLED), CallResult(state=CallResultState.REJECTED)
TURN_OVER = CallResult(state=CallResultState.SETTLED, stopped=True)
ASK_EDITS = {"permission": {"edit": "ask"}}
ENDS: dict[str, Callable[[ActivityRig], Awaitable[object]]] = {
    "stopped": ActivityRig.stop,
    "session ended": ActivityRig.end,
    "turn ended": ActivityRig.close,
}


def is_drifted(found: Claimed | CallResult) -> TypeGuard[CallResult]:
    """Whether the call goes back to the gate, which asks about it."""
    return isinstance(found, CallResult) and found.state is CallResultState.DRIFTED


def is_waiting(found: Claimed | CallResult) -> bool:
    """Whether the call's ask is still open."""
    return isinstance(found, CallResult) and found.state is CallResultState.WAITING


async def decisions(rig: ActivityRig) -> list[RecordedDecision]:
    """The decisions of the newest claim."""
    claims = [event for event in await rig.events() if isinstance(event, CallClaimed)]
    return list(claims[-1].decisions)


async def edited(rig: ActivityRig) -> PartId:
    """A call that edits sub/a.txt, which has two lines."""
    rig.file("sub/a.txt", "one\ntwo\n")
    return await rig.called("edit", filePath="sub/a.txt", oldString="one", newString="1")


async def granted(rig: ActivityRig) -> GrantId:
    """A grant for edits from the answer to an earlier call's ask."""
    ask = await rig.asked(await rig.called("write", filePath="sub/first.txt", content="x"))
    settled = await rig.answer(ask, Reply.ALWAYS)
    return settled.grants[0].id


async def test_a_prepared_call_is_claimed_with_the_rule_that_allows_it(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await edited(rig)
    fence = rig.fence()
    claimed = await rig.claim(call, fence)
    assert isinstance(claimed, Claimed) and not claimed.needs_recovery
    assert [(each.permission, each.by) for each in await decisions(rig)] == [("edit", "rule")]
    row = await rig.row(call)
    assert (row.state, row.fence, row.machine) == (CallState.CLAIMED, fence, HERE)


async def test_the_own_claim_found_again_is_no_second_claim(rig: ActivityRig) -> None:
    await rig.open_turn()
    call, fence = await edited(rig), rig.fence()
    plan = await rig.plan(call, fence)
    await rig.claim(call, fence, plan)
    again = await rig.claim(call, fence, plan)
    assert isinstance(again, Claimed) and not again.needs_recovery
    assert (await rig.types()).count("call.claimed") == 1


async def test_the_own_takeover_found_again_is_still_to_be_recovered(rig: ActivityRig) -> None:
    await rig.open_turn()
    call, fence = await edited(rig), rig.fence()
    await rig.claim(call, fence)
    for _ in range(2):
        taken = await rig.claim(call, fence._replace(attempt=2))
        assert isinstance(taken, Claimed) and taken.needs_recovery
    assert (await rig.types()).count("call.claimed") == 2


async def test_a_lower_attempts_claim_is_taken_over_to_be_recovered(rig: ActivityRig) -> None:
    await rig.open_turn()
    call, fence = await edited(rig), rig.fence()
    await rig.claim(call, fence)
    later = fence._replace(attempt=2)
    taken = await rig.claim(call, later)
    assert isinstance(taken, Claimed) and taken.needs_recovery
    assert (await rig.row(call)).fence == later


@pytest.mark.parametrize("lower", [{"attempt": 1}, {"sequence": 1, "attempt": 9}])
async def test_a_lower_fence_is_refused_by_a_higher_claim(rig: ActivityRig, lower: dict[str, int]) -> None:
    await rig.open_turn()
    call, fence = await edited(rig), rig.fence(attempt=2)
    await rig.claim(call, fence)
    with pytest.raises(StaleFence, match="claimed by a later attempt"):
        await rig.claim(call, fence._replace(**lower))
    assert (await rig.row(call)).fence == fence


async def test_an_equal_claim_of_another_execution_is_neither_the_own_nor_taken_over(rig: ActivityRig) -> None:
    """A Temporal that was rolled back gives out the same request again."""
    await rig.open_turn()
    call, fence = await edited(rig), rig.fence()
    await rig.claim(call, fence)
    with pytest.raises(StaleFence, match="claimed by a later attempt"):
        await rig.claim(call, fence._replace(execution=fence.execution + 1))
    assert (await rig.row(call)).fence == fence


async def test_a_later_epoch_takes_a_claim_over_and_shuts_the_earlier_one_out(rig: ActivityRig) -> None:
    await rig.open_turn()
    call, fence = await edited(rig), rig.fence()
    await rig.claim(call, fence)
    await rig.load()
    taken = await rig.claim(call, Fence(rig.epoch, 1, 1, 1))
    assert isinstance(taken, Claimed) and taken.needs_recovery
    with pytest.raises(StaleFence, match="later epoch"):
        await rig.claim(call, fence._replace(sequence=fence.sequence + 5))


async def test_a_settled_call_has_its_outcome(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await edited(rig)
    await rig.run(call)
    assert await rig.claim(call) == SETTLED.model_copy(update={"as_planned": True})


@pytest.mark.parametrize("how", ENDS)
async def test_nothing_is_claimed_in_a_turn_that_is_over(rig: ActivityRig, how: str) -> None:
    await rig.open_turn()
    call = await rig.called("glob", pattern="*")
    await ENDS[how](rig)
    found = await rig.claim(call)
    assert found == (SETTLED if how == "turn ended" else TURN_OVER)
    assert "call.claimed" not in await rig.types()


async def test_a_claim_in_a_stopped_turn_is_left_to_its_closing(rig: ActivityRig) -> None:
    await rig.open_turn()
    call, fence = await edited(rig), rig.fence()
    await rig.claim(call, fence)
    await rig.stop()
    assert await rig.claim(call, fence._replace(attempt=2)) == TURN_OVER
    assert (await rig.row(call)).fence == fence


async def test_a_call_whose_claim_has_gone_is_not_claimed_without_a_plan(rig: ActivityRig) -> None:
    await rig.open_turn()
    call, fence = await edited(rig), rig.fence()
    request = RunRequest(session=rig.session, epoch=rig.epoch, sequence=1, turn=rig.turn, call=call)
    async with rig.journal() as journal:
        assert await CallClaim(request, fence, HERE, None).take(journal) == TURN_OVER


async def test_a_person_decides_and_the_claim_names_the_ask(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK_EDITS)
    call = await edited(rig)
    ask = await rig.asked(call)
    await rig.answer(ask)
    assert isinstance(await rig.claim(call), Claimed)
    assert [(each.by, each.ask, each.author) for each in await decisions(rig)] == [("answer", ask, "tester@here")]


async def test_an_undecided_call_is_not_claimed(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK_EDITS)
    call = await edited(rig)
    found = await rig.claim(call)
    assert is_drifted(found)
    assert [each.action for each in found.findings] == ["ask"] and await rig.state(call) is CallState.PREPARED


async def test_a_signal_without_an_answer_is_written_down_and_leads_back_to_waiting(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK_EDITS)
    call = await edited(rig)
    await rig.asked(call)
    found = await rig.claim(call)
    assert is_waiting(found)
    assert (await rig.types())[-1] == "signal.without_answer"


@pytest.mark.parametrize(("feedback", "ends"), [(None, True), ("use b.txt", False)])
async def test_a_rejection_is_the_outcome(rig: ActivityRig, feedback: str | None, ends: bool) -> None:
    await rig.open_turn(**ASK_EDITS)
    call = await edited(rig)
    await rig.answer(await rig.asked(call), Reply.REJECT, feedback=feedback)
    assert await rig.claim(call) == (REJECTED if ends else SETTLED)
    assert await rig.claim(call) == (REJECTED if ends else SETTLED)
    output = await rig.output(call)
    assert output.startswith("The user rejected permission") and output.endswith(feedback or "tool call.")


async def test_a_grant_decides_and_its_use_is_counted(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK_EDITS)
    grant = await granted(rig)
    call = await edited(rig)
    assert isinstance(await rig.claim(call), Claimed)
    assert [(each.by, each.grant) for each in await decisions(rig)] == [("grant", grant)]
    (row,) = await grants.list_all(rig.database)
    assert row.uses == 1


async def test_a_revoked_grant_decides_nothing(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK_EDITS)
    grant = await granted(rig)
    call = await edited(rig)
    await grants.revoke(rig.database, grant, PERSON)
    found = await rig.claim(call)
    assert is_drifted(found) and [each.action for each in found.findings] == ["ask"]


async def test_an_answer_by_a_grant_that_was_revoked_since_is_asked_anew(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK_EDITS)
    call = await edited(rig)
    waiting = await rig.asked(call)
    grant = await granted(rig)
    assert (await rig.ask_row(waiting)).by_grant == grant
    await grants.revoke(rig.database, grant, PERSON)
    found = await rig.claim(call)
    assert is_drifted(found) and found.revision == 1
    _, journal = await rig.ask(call, revision=1)
    assert journal.state == "open"


async def test_drift_under_a_rule_is_judged_again_and_claimed_as_it_is_now(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await edited(rig)
    before = (await rig.row(call)).digest
    rig.file("sub/a.txt", "one\ntwo\nthree\n")
    claimed = await rig.claim(call)
    assert isinstance(claimed, Claimed) and claimed.call.digest != before
    (drifted,) = [event for event in await rig.events() if isinstance(event, CallDrifted)]
    assert (drifted.before, drifted.digest) == (before, claimed.call.digest)


@pytest.mark.parametrize("by", ["a person", "a grant"])
async def test_drift_after_a_decision_asks_again_with_the_difference(rig: ActivityRig, by: str) -> None:
    await rig.open_turn(**ASK_EDITS)
    if by == "a grant":
        await granted(rig)
    call = await edited(rig)
    if by == "a person":
        await rig.answer(await rig.asked(call))
    rig.file("sub/a.txt", "one\ntwo\nthree\n")
    found = await rig.claim(call)
    assert is_drifted(found) and found.revision == 1
    assert await rig.state(call) is CallState.PREPARED


async def test_a_command_whose_words_lead_elsewhere_by_now_is_judged_by_where_they_lead(rig: ActivityRig) -> None:
    await rig.open_turn()
    rig.file("inside/a.txt", "one\n")
    (rig.project / "link").symlink_to("inside")
    call = await rig.called("bash", command="cat link/a.txt")
    (rig.project / "link").unlink()
    (rig.project / "link").symlink_to(rig.project.parent)
    (rig.project.parent / "a.txt").write_text("two\n")
    found = await rig.claim(call)
    assert is_drifted(found)
    assert {each.permission for each in found.findings if each.action is Action.ASK} == {"external_directory"}


async def test_what_a_rule_allows_anyway_is_no_surprise(rig: ActivityRig) -> None:
    await rig.open_turn(permission={"bash": "ask"})
    call = await rig.called("bash", command="cat out.log")
    await rig.answer(await rig.asked(call))
    rig.file("out.log", "made meanwhile\n")
    assert isinstance(await rig.claim(call), Claimed)


async def test_the_digest_of_a_commands_ask_covers_what_a_yes_opens(rig: ActivityRig) -> None:
    await rig.open_turn(permission={"bash": "ask", "edit": "ask"})
    call = await rig.called("bash", command="touch a")
    row, entry = await rig.row(call), await rig.ask_row(await rig.asked(call, 0, 1))
    assert row.plan is not None and (effect := row.plan.effect).opens is not None
    assert [effect.opens.action("edit", name) for name in ("a", "b")] == [Action.ALLOW, Action.ASK]
    assert entry.digest == effect.digest != effect.model_copy(update={"opens": None}).digest


async def test_answers_to_an_earlier_revision_do_not_count(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK_EDITS)
    call = await edited(rig)
    await rig.answer(await rig.asked(call))
    rig.file("sub/a.txt", "one\ntwo\nthree\n")
    await rig.claim(call)
    found = await rig.claim(call)
    assert is_drifted(found)
    await rig.answer(await rig.asked(call, revision=1))
    assert isinstance(await rig.claim(call), Claimed)


async def test_what_cannot_be_planned_any_more_is_told_to_the_model(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await edited(rig)
    rig.file("sub/a.txt", "nothing of it\n")
    assert await rig.claim(call) == SETTLED
    assert await rig.state(call) is CallState.FAILED
    assert "oldString" in await rig.output(call)


async def test_a_rejection_counts_more_than_a_plan_that_fails(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK_EDITS)
    call = await edited(rig)
    await rig.answer(await rig.asked(call), Reply.REJECT)
    rig.file("sub/a.txt", "nothing of it\n")
    await rig.claim(call)
    assert await rig.state(call) is CallState.REFUSED


async def test_a_rule_that_denies_settles_the_call_in_the_claim_too(rig: ActivityRig) -> None:
    await rig.open_turn(permission={"edit": {"sub/*": "deny"}})
    call = await edited(rig)
    assert await rig.claim(call) == SETTLED
    assert "prevents you from using this specific tool call" in await rig.output(call)


async def test_a_call_that_the_loop_guard_holds_needs_its_answer(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await edited(rig)
    found = await rig.claim(call, loop_guarded=True)
    assert is_drifted(found) and await rig.state(call) is CallState.PREPARED


async def test_of_an_answer_to_all_reasons_only_the_loop_guards_part_outlives_drift(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK_EDITS)
    call = await edited(rig)
    first = await rig.asked(call, GUARD_REQUEST, 0)
    await rig.answer(first)
    rig.file("sub/a.txt", "one\ntwo\nthree\n")
    assert is_drifted(await rig.claim(call, loop_guarded=True))
    second = await rig.asked(call, GUARD_REQUEST, 0, revision=1)
    row = await rig.ask_row(second)
    assert row.requests == (0,) and row.state is AskState.OPEN
    await rig.answer(second)
    assert isinstance(await rig.claim(call, loop_guarded=True), Claimed)
    assert [(each.permission, each.ask) for each in await decisions(rig)] == [("doom_loop", first), ("edit", second)]


async def test_the_loop_guard_asks_again_where_its_ask_was_closed_by_drift(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK_EDITS)
    call = await edited(rig)
    closed = await rig.asked(call, GUARD_REQUEST, 0)
    rig.file("sub/a.txt", "one\ntwo\nthree\n")
    assert is_drifted(await rig.claim(call, loop_guarded=True, follows=True))
    assert (await rig.ask_row(closed)).state is AskState.CLOSED
    _, opened = await rig.ask(call, GUARD_REQUEST, 0, revision=1)
    assert opened.state is AskState.OPEN


async def test_the_loop_guards_answer_is_one_of_the_decisions_and_outlives_drift(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await edited(rig)
    ask = await rig.asked(call, GUARD_REQUEST)
    await rig.answer(ask)
    rig.file("sub/a.txt", "one\ntwo\nthree\n")
    assert isinstance(await rig.claim(call, loop_guarded=True), Claimed)
    assert [(each.permission, each.by, each.ask) for each in await decisions(rig)] == [
        ("doom_loop", "answer", ask),
        ("edit", "rule", None),
    ]


async def test_one_answer_decides_every_request_of_a_call_and_each_decision_names_it(rig: ActivityRig) -> None:
    await rig.open_turn(permission={"*": "ask"})
    call = await rig.called("bash", command="touch a; ls /")
    row = await rig.row(call)
    permissions = [request.permission for request in row.asks]
    assert is_drifted(await rig.claim(call))
    ask = await rig.asked(call, *range(len(permissions)))
    await rig.answer(ask)
    assert isinstance(await rig.claim(call), Claimed)
    assert [(each.permission, each.ask) for each in await decisions(rig)] == [(name, ask) for name in permissions]
    assert len(permissions) > 2 and (await verify(rig.database, rig.session)).problem is None


async def test_what_an_answer_did_not_cover_is_asked_about_alone(rig: ActivityRig) -> None:
    await rig.open_turn(permission={"*": "ask"})
    call = await rig.called("bash", command="touch a")
    first = await rig.asked(call, 0)
    await rig.answer(first)
    assert is_drifted(await rig.claim(call))
    second = await rig.asked(call, 0, 1)
    assert (await rig.ask_row(second)).requests == (1,)
    await rig.answer(second)
    assert isinstance(await rig.claim(call), Claimed)
    assert [each.ask for each in await decisions(rig)] == [first, second]


async def test_grants_answer_an_ask_together_once_they_cover_all_of_it_and_hold_together(rig: ActivityRig) -> None:
    await rig.open_turn(permission={"edit": "ask", "bash": "ask"})
    command, write, lone = await rig.answered(
        ("bash", {"command": "touch sub/b"}),
        ("write", {"filePath": "sub/b", "content": "x"}),
        ("bash", {"command": "touch"}),
    )
    waiting = await rig.asked(command, 0, 1)
    (edits,) = (await rig.answer(await rig.asked(write), Reply.ALWAYS)).grants
    assert (await rig.ask_row(waiting)).state is AskState.OPEN
    (touches,) = (await rig.answer(await rig.asked(lone), Reply.ALWAYS)).grants
    assert (await rig.ask_row(waiting)).by_grant == touches.id
    assert isinstance(await rig.claim(command), Claimed)
    made = [(each.by, each.grant, each.ask) for each in await decisions(rig)]
    assert made == [("grant", touches.id, waiting), ("grant", edits.id, waiting)]
    assert [row.uses for row in await grants.list_all(rig.database)] == [1, 1]


@pytest.mark.parametrize("revoked", [0, 1])
async def test_an_answer_by_several_grants_holds_no_more_once_one_is_revoked(rig: ActivityRig, revoked: int) -> None:
    await rig.open_turn(permission={"edit": "ask", "bash": "ask"})
    first, second = await rig.answered(("bash", {"command": "touch a"}), ("bash", {"command": "touch a && touch a"}))
    saved = (await rig.answer(await rig.asked(first, 0, 1), Reply.ALWAYS)).grants
    assert (await rig.ask(second, 0, 1))[1].state is AskState.ANSWERED
    await grants.revoke(rig.database, saved[revoked].id, PERSON)
    found = await rig.claim(second)
    assert is_drifted(found) and found.revision == 1


FORGED = (
    "UPDATE ask SET state = 'answered', reply = 'once', author = 'tester@here', settled_at = now() {} WHERE id = %s"
)


@pytest.mark.parametrize(
    "more",
    ["", ", answer_seq = 1", ", answer_seq = (SELECT max(seq) FROM event WHERE type = 'ask.answered')"],
    ids=["no event", "another event", "the answer to another ask"],
)
async def test_an_answer_that_only_the_row_has_lets_nothing_run(rig: ActivityRig, more: str) -> None:
    await rig.open_turn(**ASK_EDITS)
    await rig.answer(await rig.asked(await rig.called("write", filePath="sub/first.txt", content="x")))
    call = await edited(rig)
    ask = await rig.asked(call)
    async with rig.database.transaction() as connection:
        await connection.execute(FORGED.format(more).encode(), [ask])
    undecided = await rig.claim(call, rig.fence())
    assert is_waiting(undecided)
    assert (await rig.types())[-2:] == ["ask.reopened", "signal.without_answer"]
    await rig.answer(ask)
    assert isinstance(await rig.claim(call, rig.fence()), Claimed)


async def test_the_asks_of_a_claimed_call_stay_answered_without_their_events(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK_EDITS)
    call = await edited(rig)
    ask, fence = await rig.asked(call), rig.fence()
    await rig.answer(ask)
    await rig.claim(call, fence)
    await rig.database.rows(b"UPDATE ask SET answer_seq = NULL")

    again, row = await rig.answer(ask), await rig.ask_row(ask)
    await rig.run(call)

    assert again.repeated and row.state is AskState.ANSWERED and "ask.reopened" not in await rig.types()


@pytest.mark.parametrize("change", ["reply = 'once'", "author = 'somebody@else'", "digest = 'other'"])
async def test_an_answer_whose_row_was_changed_holds_no_more(rig: ActivityRig, change: str) -> None:
    await rig.open_turn(**ASK_EDITS)
    call = await edited(rig)
    ask = await rig.asked(call)
    await rig.answer(ask, Reply.ALWAYS)
    async with rig.database.transaction() as connection:
        await connection.execute(f"UPDATE ask SET {change} WHERE id = %s".encode(), [ask])
    undecided = await rig.claim(call, rig.fence())
    assert is_waiting(undecided)


async def test_an_answer_lets_no_other_effect_run_than_the_one_that_was_asked_about(rig: ActivityRig) -> None:
    await rig.open_turn(permission={"bash": "ask"})
    call, other = await rig.called("bash", command="echo one"), await rig.called("bash", command="echo two")
    await rig.answer(await rig.asked(call))
    await rig.database.rows(
        b"""UPDATE call SET arguments = o.arguments, plan = o.plan, digest = o.digest
            FROM call o WHERE o.id = %(other)s AND call.id = %(call)s RETURNING call.id""",
        call=call,
        other=other,
    )
    undecided = await rig.claim(call, rig.fence())
    assert is_drifted(undecided)
    await rig.answer(await rig.asked(call, revision=undecided.revision))
    assert isinstance(await rig.claim(call, rig.fence()), Claimed)


async def test_a_person_can_answer_what_was_only_marked_as_answered(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK_EDITS)
    call = await edited(rig)
    ask = await rig.asked(call)
    async with rig.database.transaction() as connection:
        await connection.execute(FORGED.format("").encode(), [ask])
    settled = await rig.answer(ask, Reply.REJECT)
    assert not settled.repeated and settled.ask.reply is Reply.REJECT
    assert await rig.claim(call, rig.fence()) == REJECTED


async def test_a_call_of_another_session_is_not_claimed(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await edited(rig)
    other = SessionId("ses_other")
    new = NewSession(id=other, directory=str(rig.project), title="other", agent="build")
    await sessions.create(rig.database, new, PERSON)
    request = RunRequest(session=other, epoch=0, sequence=1, turn=rig.turn, call=call)
    plan = await rig.plan(call, rig.fence())
    with pytest.raises(NotFound):
        async with session_journal(rig.database, other, WORKER, epoch=0) as journal:
            await CallClaim(request, rig.fence(), HERE, plan).take(journal)
    assert await rig.state(call) is CallState.PREPARED


@pytest.mark.parametrize(
    ("sender", "mentioned", "allowed"),
    [(PERSON, "explore", True), (WORKER, "explore", False), (PERSON, "general", False)],
    ids=["a person's", "a result's", "of another agent"],
)
async def test_a_prompt_orders_the_agent_that_a_person_mentions_in_it_and_no_other(
    rig: ActivityRig, sender: Actor, mentioned: str, allowed: bool
) -> None:
    await rig.open_turn(permission={"task": "ask"})
    prompt = MessageId(new_id(Prefix.MESSAGE))
    async with session_journal(rig.database, rig.session, sender) as journal:
        await prompts.accept(journal, prompt, Prompt(parts=(AgentPart(name=mentioned),)))
    call = await rig.called("task", description="look", prompt="Look.", subagent_type="explore")
    assert is_drifted(await rig.claim(call))  # the rig prepares calls without agents
    await rig.database.rows(b"UPDATE call SET mentioned_by = %(prompt)s", prompt=prompt)
    found = await rig.claim(call, revision=1)
    assert isinstance(found, Claimed) == allowed
    if allowed:
        assert [(each.by, each.author) for each in await decisions(rig)] == [("prompt", PERSON.subject)]
