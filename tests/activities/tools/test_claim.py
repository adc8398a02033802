"""The claim: who may begin an effect, and what is recorded before it."""

from collections.abc import Awaitable, Callable

import pytest

from activities.store import grants, migrate, sessions
from activities.store.journal import WORKER, journal
from activities.store.sessions import NewSession
from activities.tools.claim import Claimed, Over, Stored, Undecided, claim
from tests.activities.scene import HERE, PERSON, Scene
from workflows.domain.errors import NotFound, StaleFence
from workflows.domain.events import CallClaimed, CallDrifted, Decision
from workflows.domain.ids import GrantId, PartId, SessionId
from workflows.domain.messages import CallState
from workflows.domain.permissions.replies import AskState, Reply
from workflows.domain.permissions.rules import Action
from workflows.domain.state import GUARD
from workflows.domain.wire import RunRequest

ASK_EDITS = {"permission": {"edit": "ask"}}
ENDS: dict[str, Callable[[Scene], Awaitable[object]]] = {
    "stopped": Scene.stop,
    "session ended": Scene.end,
    "turn ended": Scene.close,
}


async def decisions(scene: Scene) -> list[Decision]:
    """The decisions of the newest claim."""
    claims = [event for event in await scene.events() if isinstance(event, CallClaimed)]
    return list(claims[-1].decisions)


async def edited(scene: Scene) -> PartId:
    """A call that edits sub/a.txt, which has two lines."""
    scene.file("sub/a.txt", "one\ntwo\n")
    return await scene.called("edit", filePath="sub/a.txt", oldString="one", newString="1")


async def granted(scene: Scene) -> GrantId:
    """A grant for edits, given by answering the ask of an earlier call."""
    ask = await scene.asked(await scene.called("write", filePath="sub/first.txt", content="x"))
    settled = await scene.answer(ask, Reply.ALWAYS)
    assert settled.grant is not None
    return settled.grant.id


async def test_a_prepared_call_is_claimed_with_the_rule_that_allows_it(scene: Scene) -> None:
    await scene.open_turn()
    call = await edited(scene)
    fence = scene.fence()
    claimed = await scene.claim(call, fence)
    assert isinstance(claimed, Claimed) and not claimed.recovered
    assert [(each.permission, each.by) for each in await decisions(scene)] == [("edit", "rule")]
    row = await scene.row(call)
    assert (row.state, row.fence, row.machine) == (CallState.CLAIMED, fence, HERE)


async def test_the_own_claim_found_again_is_no_second_claim(scene: Scene) -> None:
    await scene.open_turn()
    call, fence = await edited(scene), scene.fence()
    plan = await scene.plan(call, fence)
    await scene.claim(call, fence, plan)
    again = await scene.claim(call, fence, plan)
    assert isinstance(again, Claimed) and not again.recovered
    assert (await scene.types()).count("call.claimed") == 1


async def test_the_own_takeover_found_again_is_still_to_be_recovered(scene: Scene) -> None:
    await scene.open_turn()
    call, fence = await edited(scene), scene.fence()
    await scene.claim(call, fence)
    for _ in range(2):
        taken = await scene.claim(call, fence._replace(attempt=2))
        assert isinstance(taken, Claimed) and taken.recovered
    assert (await scene.types()).count("call.claimed") == 2


async def test_a_lower_attempts_claim_is_taken_over_to_be_recovered(scene: Scene) -> None:
    await scene.open_turn()
    call, fence = await edited(scene), scene.fence()
    await scene.claim(call, fence)
    later = fence._replace(attempt=2)
    taken = await scene.claim(call, later)
    assert isinstance(taken, Claimed) and taken.recovered
    assert (await scene.row(call)).fence == later


@pytest.mark.parametrize("lower", [{"attempt": 1}, {"schedule": 1, "attempt": 9}])
async def test_a_lower_fence_is_refused_by_a_higher_claim(scene: Scene, lower: dict[str, int]) -> None:
    await scene.open_turn()
    call, fence = await edited(scene), scene.fence(attempt=2)
    await scene.claim(call, fence)
    with pytest.raises(StaleFence, match="claimed by a later attempt"):
        await scene.claim(call, fence._replace(**lower))
    assert (await scene.row(call)).fence == fence


async def test_a_later_chain_takes_a_claim_over_and_shuts_the_earlier_one_out(scene: Scene) -> None:
    await scene.open_turn()
    call, fence = await edited(scene), scene.fence()
    await scene.claim(call, fence)
    taken = await scene.claim(call, fence._replace(chain=fence.chain + 1, schedule=1))
    assert isinstance(taken, Claimed) and taken.recovered
    with pytest.raises(StaleFence, match="later chain"):
        await scene.claim(call, fence._replace(schedule=fence.schedule + 5))


async def test_a_settled_call_has_its_outcome(scene: Scene) -> None:
    await scene.open_turn()
    call = await edited(scene)
    await scene.run(call)
    assert await scene.claim(call) == Stored()


@pytest.mark.parametrize("how", ENDS)
async def test_nothing_is_claimed_in_a_turn_that_is_over(scene: Scene, how: str) -> None:
    await scene.open_turn()
    call = await scene.called("glob", pattern="*")
    await ENDS[how](scene)
    found = await scene.claim(call)
    assert found == (Stored() if how == "turn ended" else Over())
    assert "call.claimed" not in await scene.types()


async def test_a_claim_in_a_stopped_turn_is_left_to_its_closing(scene: Scene) -> None:
    await scene.open_turn()
    call, fence = await edited(scene), scene.fence()
    await scene.claim(call, fence)
    await scene.stop()
    assert await scene.claim(call, fence._replace(attempt=2)) == Over()
    assert (await scene.row(call)).fence == fence


async def test_a_call_whose_claim_has_gone_is_not_claimed_without_a_plan(scene: Scene) -> None:
    await scene.open_turn()
    call, fence = await edited(scene), scene.fence()
    request = RunRequest(session=scene.session, chain=scene.chain, schedule=1, turn=scene.turn, call=call)
    async with scene.journal() as opened:
        assert await claim(opened, request, fence, HERE, None) == Over()


async def test_a_person_decides_and_the_claim_names_the_ask(scene: Scene) -> None:
    await scene.open_turn(**ASK_EDITS)
    call = await edited(scene)
    ask = await scene.asked(call)
    await scene.answer(ask)
    assert isinstance(await scene.claim(call), Claimed)
    assert [(each.by, each.ask, each.author) for each in await decisions(scene)] == [("answer", ask, "tester@here")]


async def test_an_undecided_call_is_not_claimed(scene: Scene) -> None:
    await scene.open_turn(**ASK_EDITS)
    call = await edited(scene)
    found = await scene.claim(call)
    assert isinstance(found, Undecided) and not found.waiting
    assert [each.action for each in found.findings] == ["ask"] and await scene.state(call) is CallState.PREPARED


async def test_a_bell_without_an_answer_is_written_down_and_leads_back_to_waiting(scene: Scene) -> None:
    await scene.open_turn(**ASK_EDITS)
    call = await edited(scene)
    await scene.asked(call)
    found = await scene.claim(call)
    assert isinstance(found, Undecided) and found.waiting
    assert (await scene.types())[-1] == "bell.without_answer"


@pytest.mark.parametrize(("feedback", "ends"), [(None, True), ("use b.txt", False)])
async def test_a_rejection_is_the_outcome(scene: Scene, feedback: str | None, ends: bool) -> None:
    await scene.open_turn(**ASK_EDITS)
    call = await edited(scene)
    await scene.answer(await scene.asked(call), Reply.REJECT, feedback=feedback)
    assert await scene.claim(call) == Stored(rejected=ends)
    assert await scene.claim(call) == Stored(rejected=ends)
    said = await scene.said(call)
    assert said.startswith("The user rejected permission") and said.endswith(feedback or "tool call.")


async def test_a_grant_decides_and_its_use_is_counted(scene: Scene) -> None:
    await scene.open_turn(**ASK_EDITS)
    grant = await granted(scene)
    call = await edited(scene)
    assert isinstance(await scene.claim(call), Claimed)
    assert [(each.by, each.grant) for each in await decisions(scene)] == [("grant", grant)]
    (row,) = await grants.listed(scene.database)
    assert row.uses == 1


async def test_a_revoked_grant_decides_nothing(scene: Scene) -> None:
    await scene.open_turn(**ASK_EDITS)
    grant = await granted(scene)
    call = await edited(scene)
    await grants.revoke(scene.database, grant, PERSON)
    found = await scene.claim(call)
    assert isinstance(found, Undecided) and [each.action for each in found.findings] == ["ask"]


async def test_an_answer_by_a_grant_that_was_revoked_since_is_asked_anew(scene: Scene) -> None:
    await scene.open_turn(**ASK_EDITS)
    call = await edited(scene)
    waiting = await scene.asked(call)
    grant = await granted(scene)
    assert (await scene.ask_row(waiting)).by_grant == grant
    await grants.revoke(scene.database, grant, PERSON)
    found = await scene.claim(call)
    assert isinstance(found, Undecided) and found.call.revision == 1
    _, opened = await scene.ask(call, revision=1)
    assert opened.state == "open"


async def test_drift_under_a_rule_is_judged_again_and_claimed_as_it_is_now(scene: Scene) -> None:
    await scene.open_turn()
    call = await edited(scene)
    before = (await scene.row(call)).digest
    scene.file("sub/a.txt", "one\ntwo\nthree\n")
    claimed = await scene.claim(call)
    assert isinstance(claimed, Claimed) and claimed.call.digest != before
    (drifted,) = [event for event in await scene.events() if isinstance(event, CallDrifted)]
    assert (drifted.before, drifted.digest) == (before, claimed.call.digest)


@pytest.mark.parametrize("by", ["a person", "a grant"])
async def test_drift_after_a_decision_asks_again_with_the_difference(scene: Scene, by: str) -> None:
    await scene.open_turn(**ASK_EDITS)
    if by == "a grant":
        await granted(scene)
    call = await edited(scene)
    if by == "a person":
        await scene.answer(await scene.asked(call))
    scene.file("sub/a.txt", "one\ntwo\nthree\n")
    found = await scene.claim(call)
    assert isinstance(found, Undecided) and found.call.revision == 1
    assert await scene.state(call) is CallState.PREPARED


async def test_a_command_whose_words_lead_elsewhere_by_now_is_judged_by_where_they_lead(scene: Scene) -> None:
    await scene.open_turn()
    scene.file("inside/a.txt", "one\n")
    (scene.project / "link").symlink_to("inside")
    call = await scene.called("bash", command="cat link/a.txt")
    (scene.project / "link").unlink()
    (scene.project / "link").symlink_to(scene.project.parent)
    (scene.project.parent / "a.txt").write_text("two\n")
    found = await scene.claim(call)
    assert isinstance(found, Undecided)
    assert {each.permission for each in found.findings if each.action is Action.ASK} == {"external_directory"}


async def test_what_a_rule_allows_anyway_is_no_surprise(scene: Scene) -> None:
    await scene.open_turn(permission={"bash": "ask"})
    call = await scene.called("bash", command="cat out.log")
    await scene.answer(await scene.asked(call))
    scene.file("out.log", "made meanwhile\n")
    assert isinstance(await scene.claim(call), Claimed)


async def test_answers_to_an_earlier_revision_do_not_count(scene: Scene) -> None:
    await scene.open_turn(**ASK_EDITS)
    call = await edited(scene)
    await scene.answer(await scene.asked(call))
    scene.file("sub/a.txt", "one\ntwo\nthree\n")
    await scene.claim(call)
    found = await scene.claim(call)
    assert isinstance(found, Undecided)
    await scene.answer(await scene.asked(call, revision=1))
    assert isinstance(await scene.claim(call), Claimed)


async def test_what_cannot_be_planned_any_more_is_told_to_the_model(scene: Scene) -> None:
    await scene.open_turn()
    call = await edited(scene)
    scene.file("sub/a.txt", "nothing of it\n")
    assert await scene.claim(call) == Stored()
    assert await scene.state(call) is CallState.FAILED
    assert "oldString" in await scene.said(call)


async def test_a_rejection_counts_more_than_a_plan_that_fails(scene: Scene) -> None:
    await scene.open_turn(**ASK_EDITS)
    call = await edited(scene)
    await scene.answer(await scene.asked(call), Reply.REJECT)
    scene.file("sub/a.txt", "nothing of it\n")
    await scene.claim(call)
    assert await scene.state(call) is CallState.REFUSED


async def test_a_rule_that_denies_settles_the_call_in_the_claim_too(scene: Scene) -> None:
    await scene.open_turn(permission={"edit": {"sub/*": "deny"}})
    call = await edited(scene)
    assert await scene.claim(call) == Stored()
    assert "prevents you from using this specific tool call" in await scene.said(call)


async def test_a_call_that_the_loop_guard_holds_needs_its_answer(scene: Scene) -> None:
    await scene.open_turn()
    call = await edited(scene)
    found = await scene.claim(call, guarded=True)
    assert isinstance(found, Undecided) and await scene.state(call) is CallState.PREPARED


async def test_the_loop_guards_answer_is_one_of_the_decisions_and_outlives_drift(scene: Scene) -> None:
    await scene.open_turn()
    call = await edited(scene)
    ask = await scene.asked(call, GUARD)
    await scene.answer(ask)
    scene.file("sub/a.txt", "one\ntwo\nthree\n")
    assert isinstance(await scene.claim(call, guarded=True), Claimed)
    assert [(each.permission, each.by, each.ask) for each in await decisions(scene)] == [
        ("doom_loop", "answer", ask),
        ("edit", "rule", None),
    ]


async def test_every_request_of_a_call_is_decided(scene: Scene) -> None:
    await scene.open_turn(permission={"*": "ask"})
    call = await scene.called("bash", command="touch a; ls /")
    row = await scene.row(call)
    assert row.plan is not None
    permissions = [request.permission for request in row.plan.requests]
    for request in range(len(permissions)):
        assert isinstance(await scene.claim(call), Undecided)
        await scene.answer(await scene.asked(call, request))
    assert isinstance(await scene.claim(call), Claimed)
    assert [each.permission for each in await decisions(scene)] == permissions and len(permissions) > 1


FORGED = (
    "UPDATE ask SET state = 'answered', reply = 'once', author = 'tester@here', settled_at = now() {} WHERE id = %s"
)


@pytest.mark.parametrize(
    "more",
    ["", ", answer_seq = 1", ", answer_seq = (SELECT max(seq) FROM event WHERE type = 'ask.answered')"],
    ids=["no event", "another event", "the answer to another ask"],
)
async def test_an_answer_that_only_the_row_has_lets_nothing_run(scene: Scene, more: str) -> None:
    await scene.open_turn(**ASK_EDITS)
    await scene.answer(await scene.asked(await scene.called("write", filePath="sub/first.txt", content="x")))
    call = await edited(scene)
    ask = await scene.asked(call)
    async with scene.database.transaction() as connection:
        await connection.execute(FORGED.format(more).encode(), [ask])
    undecided = await scene.claim(call, scene.fence())
    assert isinstance(undecided, Undecided) and undecided.waiting
    assert (await scene.types())[-2:] == ["ask.reopened", "bell.without_answer"]
    await scene.answer(ask)
    assert isinstance(await scene.claim(call, scene.fence()), Claimed)


async def test_the_asks_of_a_claimed_call_stay_answered_without_their_events(scene: Scene) -> None:
    await scene.open_turn(**ASK_EDITS)
    call = await edited(scene)
    ask, fence = await scene.asked(call), scene.fence()
    await scene.answer(ask)
    await scene.claim(call, fence)
    await scene.database.rows(b"UPDATE ask SET answer_seq = NULL")

    again, row = await scene.answer(ask), await scene.ask_row(ask)
    await scene.run(call)

    assert again.repeated and row.state is AskState.ANSWERED and "ask.reopened" not in await scene.types()


async def test_a_database_from_before_answers_had_events_gets_them(scene: Scene) -> None:
    await scene.open_turn(**ASK_EDITS)
    call = await edited(scene)
    await scene.answer(await scene.asked(call))
    await scene.claim(call, scene.fence())
    (before,) = await scene.database.rows(b"UPDATE ask SET answer_seq = NULL RETURNING id")
    (script,) = [script for script in migrate.known() if b"0005 has filled" in script]
    await scene.database.rows(script)
    (after,) = await scene.database.rows(b"SELECT id, type FROM ask JOIN event e ON e.seq = answer_seq")
    assert after == {**before, "type": "ask.answered"}


@pytest.mark.parametrize("change", ["reply = 'once'", "author = 'somebody@else'", "digest = 'other'"])
async def test_an_answer_whose_row_was_changed_holds_no_more(scene: Scene, change: str) -> None:
    await scene.open_turn(**ASK_EDITS)
    call = await edited(scene)
    ask = await scene.asked(call)
    await scene.answer(ask, Reply.ALWAYS)
    async with scene.database.transaction() as connection:
        await connection.execute(f"UPDATE ask SET {change} WHERE id = %s".encode(), [ask])
    undecided = await scene.claim(call, scene.fence())
    assert isinstance(undecided, Undecided) and undecided.waiting


async def test_an_answer_lets_no_other_effect_run_than_the_one_that_was_asked_about(scene: Scene) -> None:
    await scene.open_turn(permission={"bash": "ask"})
    call, other = await scene.called("bash", command="echo one"), await scene.called("bash", command="echo two")
    await scene.answer(await scene.asked(call))
    await scene.database.rows(
        b"""UPDATE call SET arguments = o.arguments, plan = o.plan, digest = o.digest
            FROM call o WHERE o.id = %(other)s AND call.id = %(call)s RETURNING call.id""",
        call=call,
        other=other,
    )
    undecided = await scene.claim(call, scene.fence())
    assert isinstance(undecided, Undecided) and not undecided.waiting
    await scene.answer(await scene.asked(call, revision=undecided.call.revision))
    assert isinstance(await scene.claim(call, scene.fence()), Claimed)


async def test_a_person_can_answer_what_was_only_marked_as_answered(scene: Scene) -> None:
    await scene.open_turn(**ASK_EDITS)
    call = await edited(scene)
    ask = await scene.asked(call)
    async with scene.database.transaction() as connection:
        await connection.execute(FORGED.format("").encode(), [ask])
    settled = await scene.answer(ask, Reply.REJECT)
    assert not settled.repeated and settled.ask.reply is Reply.REJECT
    assert isinstance(await scene.claim(call, scene.fence()), Stored)


async def test_a_call_of_another_session_is_not_claimed(scene: Scene) -> None:
    await scene.open_turn()
    call = await edited(scene)
    other = SessionId("ses_other")
    new = NewSession(id=other, directory=str(scene.project), title="other", agent="build")
    await sessions.create(scene.database, new, PERSON)
    request = RunRequest(session=other, chain=1, schedule=1, turn=scene.turn, call=call)
    plan = await scene.plan(call, scene.fence())
    with pytest.raises(NotFound):
        async with journal(scene.database, other, WORKER, chain_start=1) as opened:
            await claim(opened, request, scene.fence(), HERE, plan)
    assert await scene.state(call) is CallState.PREPARED
