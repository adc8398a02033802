"""Answers: one decision settles an ask, with all its consequences."""

import json
from datetime import UTC, datetime

import pytest

from activities.new_ids import new_id
from activities.session import answers
from activities.store import grants, sessions
from activities.store.sessions import NewSession
from tests.activities.rig import PERSON, ActivityRig
from workflows.domain.errors import Conflict, NotFound
from workflows.domain.events.asks import AnswerRefused, AskAnswered
from workflows.domain.events.grants import GrantMade
from workflows.domain.ids import AskId, PartId, Prefix, SessionId
from workflows.domain.messages import CallState
from workflows.domain.permissions.grants import GrantScope
from workflows.domain.permissions.replies import Reply
from workflows.domain.wire import AskState

ASK = {"permission": {"edit": "ask", "bash": "ask"}}


async def writing(rig: ActivityRig, *names: str) -> list[AskId]:
    """Open asks for writing these files."""
    await rig.open_turn(**ASK)
    calls = await rig.answered(*(("write", {"filePath": name, "content": "x"}) for name in names))
    return [await rig.asked(call) for call in calls]


async def refusals(rig: ActivityRig) -> list[str]:
    return [event.reason for event in await rig.events() if isinstance(event, AnswerRefused)]


async def test_once_settles_the_ask_with_who_and_when(rig: ActivityRig) -> None:
    ask, other = await writing(rig, "sub/a.txt", "sub/b.txt")
    settled = await rig.answer(ask)
    assert (settled.asks, settled.grants, settled.repeated) == ((ask,), (), False)
    assert (settled.ask.state, settled.ask.reply, settled.ask.author) == (AskState.ANSWERED, Reply.ONCE, PERSON.subject)
    assert (await rig.ask_row(other)).state is AskState.OPEN


@pytest.mark.parametrize(
    ("reply", "feedback"), [(Reply.ONCE, None), (Reply.ALWAYS, None), (Reply.REJECT, None), (Reply.REJECT, "no")]
)
async def test_the_same_decision_again_gets_the_first_record(
    rig: ActivityRig, reply: Reply, feedback: str | None
) -> None:
    (ask,) = await writing(rig, "sub/a.txt")
    first = await rig.answer(ask, reply, feedback=feedback)
    events = await rig.events()
    again = await rig.answer(ask, reply, feedback=feedback)
    assert again.repeated and again.ask == first.ask and again.asks == (ask,)
    assert await rig.events() == events


async def test_a_wider_always_is_another_decision(rig: ActivityRig) -> None:
    (ask,) = await writing(rig, "sub/a.txt")
    await rig.answer(ask, Reply.ALWAYS)
    with pytest.raises(Conflict, match="already answered always"):
        await rig.answer(ask, Reply.ALWAYS, scope=GrantScope.PROJECT)


@pytest.mark.parametrize("other", [{"reply": Reply.ONCE}, {"reply": Reply.REJECT, "feedback": "another"}])
async def test_another_decision_is_refused_with_the_name_of_the_first_person(
    rig: ActivityRig, other: dict[str, str]
) -> None:
    (ask,) = await writing(rig, "sub/a.txt")
    await rig.answer(ask, Reply.REJECT, feedback="no")
    with pytest.raises(Conflict, match=r"already answered reject by tester@here \(20"):
        await rig.answer(ask, Reply(other["reply"]), feedback=other.get("feedback"))
    assert len(await refusals(rig)) == 1 and (await rig.ask_row(ask)).feedback == "no"


async def test_an_answer_after_the_turn_is_refused_with_the_reason(rig: ActivityRig) -> None:
    (ask,) = await writing(rig, "sub/a.txt")
    await rig.stop()
    await rig.close()
    with pytest.raises(Conflict, match="was closed before your answer: the turn ended"):
        await rig.answer(ask)
    assert len(await refusals(rig)) == 1


@pytest.mark.parametrize("reply", list(Reply))
@pytest.mark.parametrize("ended", [False, True])
async def test_an_answer_after_an_accepted_stop_or_end_is_refused_and_grants_nothing(
    rig: ActivityRig, reply: Reply, ended: bool
) -> None:
    (ask,) = await writing(rig, "sub/a.txt")
    await (rig.end() if ended else rig.stop())
    reason = f"session '{rig.session}' has ended" if ended else r"its turn was stopped by tester@here \(20"
    with pytest.raises(Conflict, match=reason):
        await rig.answer(ask, reply, scope=GrantScope.PROJECT)
    assert await grants.list_all(rig.database) == [] and (await rig.ask_row(ask)).state is AskState.OPEN
    assert len(await refusals(rig)) == 1


async def test_the_first_answer_stays_accepted_after_a_stop(rig: ActivityRig) -> None:
    (ask,) = await writing(rig, "sub/a.txt")
    await rig.answer(ask)
    await rig.stop()
    assert (await rig.answer(ask)).repeated


async def test_a_projects_grant_does_not_reach_a_turn_that_was_stopped(rig: ActivityRig) -> None:
    (ask,) = await writing(rig, "sub/a.txt")
    other = await beside(rig)
    (waiting,) = await writing(other, "sub/b.txt")
    await other.stop()
    settled = await rig.answer(ask, Reply.ALWAYS, scope=GrantScope.PROJECT)
    assert await answers.apply_project_grant(rig.database, settled.grants[0].id) == []
    assert (await other.ask_row(waiting)).state is AskState.OPEN


async def test_b05_an_answer_to_an_ask_that_is_not_there_is_never_accepted(rig: ActivityRig) -> None:
    with pytest.raises(NotFound, match="There is no ask 'per_x'"):
        await rig.answer(AskId("per_x"))


async def test_an_answer_to_another_effect_than_was_seen_is_refused(rig: ActivityRig) -> None:
    (ask,) = await writing(rig, "sub/a.txt")
    with pytest.raises(Conflict, match="is not what you saw"):
        await rig.answer(ask, digest="0" * 64)
    assert len(await refusals(rig)) == 1
    await rig.answer(ask, digest=(await rig.ask_row(ask)).digest)
    assert (await rig.ask_row(ask)).state is AskState.ANSWERED


async def test_always_with_nothing_to_save_is_refused_and_once_still_works(rig: ActivityRig) -> None:
    (ask,) = await writing(rig, "opencode.json")
    with pytest.raises(Conflict, match="Nothing of ask .* may be saved"):
        await rig.answer(ask, Reply.ALWAYS)
    assert await grants.list_all(rig.database) == [] and not (await rig.answer(ask)).repeated


async def test_always_keeps_a_grant_and_releases_what_it_covers(rig: ActivityRig) -> None:
    ask, covered, outside = await writing(rig, "sub/a.txt", "sub/b.txt", "other/c.txt")
    settled = await rig.answer(ask, Reply.ALWAYS)
    (grant,) = settled.grants
    assert settled.asks == (ask, covered)
    assert grant.patterns == ("sub/**",) and grant.author == PERSON.subject
    assert (await rig.ask_row(covered)).by_grant == grant.id
    assert (await rig.ask_row(outside)).state is AskState.OPEN
    made = [event for event in await rig.events() if isinstance(event, GrantMade)]
    assert [(event.grant, event.ask, event.scope) for event in made] == [(grant.id, ask, "session")]


async def test_always_saves_a_grant_for_each_request_of_an_ask_that_lets_it(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK)
    call, protected = await rig.answered(
        ("bash", {"command": "touch sub/a"}), ("bash", {"command": "touch opencode.json"})
    )
    saved = (await rig.answer(await rig.asked(call, 0, 1), Reply.ALWAYS, scope=GrantScope.PROJECT)).grants
    rest = (await rig.answer(await rig.asked(protected, 0, 1), Reply.ALWAYS)).grants
    assert [(each.permission, each.patterns, each.scope) for each in saved] == [
        ("bash", ("touch *",), "project"),
        ("edit", ("sub/a",), "project"),
    ]
    assert [[rule.permission for rule in each.asked] for each in saved] == [["bash"], ["edit"]]
    assert [each.permission for each in rest] == ["bash"]


async def test_a_reject_refuses_the_whole_effect(rig: ActivityRig) -> None:
    await rig.open_turn(**ASK)
    call = await rig.called("bash", command="touch a")
    await rig.answer(await rig.asked(call, 0, 1), Reply.REJECT, feedback="no")
    await rig.run(call)
    assert await rig.state(call) is CallState.REFUSED and "feedback: no" in await rig.output(call)


async def test_who_was_released_by_a_grant_may_still_be_answered_as_conflict(rig: ActivityRig) -> None:
    ask, covered = await writing(rig, "sub/a.txt", "sub/b.txt")
    await rig.answer(ask, Reply.ALWAYS)
    with pytest.raises(Conflict, match="already answered always"):
        await rig.answer(covered, Reply.ALWAYS)


async def test_a_reject_with_a_word_settles_its_ask_alone(rig: ActivityRig) -> None:
    ask, other = await writing(rig, "sub/a.txt", "other/b.txt")
    settled = await rig.answer(ask, Reply.REJECT, feedback="use c.txt")
    assert settled.asks == (ask,) and (await rig.ask_row(other)).state is AskState.OPEN


@pytest.mark.parametrize("continues", [False, True])
async def test_a_reject_without_a_word_closes_the_others_if_it_ends_the_turn(rig: ActivityRig, continues: bool) -> None:
    rig.config.mkdir(exist_ok=True)
    (rig.config / "opencode.json").write_text(json.dumps({"experimental": {"continue_loop_on_deny": continues}}))
    ask, other = await writing(rig, "sub/a.txt", "other/b.txt")
    settled = await rig.answer(ask, Reply.REJECT)
    row = await rig.ask_row(other)
    assert settled.asks == ((ask,) if continues else (ask, other))
    assert (row.state, row.reply, row.author) == (AskState.OPEN if continues else AskState.CLOSED, None, None)


async def test_feedback_is_named_by_its_seal_only(rig: ActivityRig) -> None:
    (ask,) = await writing(rig, "sub/a.txt")
    await rig.answer(ask, Reply.REJECT, feedback="a secret reason")
    (answered,) = [event for event in await rig.events() if isinstance(event, AskAnswered)]
    assert answered.feedback_seal is not None and "secret" not in answered.model_dump_json()


async def test_a_projects_grant_reaches_its_other_sessions_once_it_is_spread(rig: ActivityRig) -> None:
    (ask,) = await writing(rig, "sub/a.txt")
    other = await beside(rig)
    (waiting,) = await writing(other, "sub/b.txt")
    await rig.answer(ask, Reply.ALWAYS, scope=GrantScope.PROJECT)
    assert (await rig.ask_row(waiting)).state is AskState.OPEN
    (grant,) = await grants.unpropagated(rig.database, datetime.now(UTC))
    assert await answers.apply_project_grant(rig.database, grant) == [other.session]
    assert await answers.apply_project_grant(rig.database, grant) == []
    await grants.mark_propagated(rig.database, grant)
    assert await grants.unpropagated(rig.database, datetime.now(UTC)) == []


async def test_a_sessions_grant_does_not_leave_it(rig: ActivityRig) -> None:
    (ask,) = await writing(rig, "sub/a.txt")
    other = await beside(rig)
    (waiting,) = await writing(other, "sub/b.txt")
    await rig.answer(ask, Reply.ALWAYS)
    assert await grants.unpropagated(rig.database, datetime.now(UTC)) == []
    assert await answers.answer_covered_asks(rig.database, other.session) == ()
    assert (await other.ask_row(waiting)).state is AskState.OPEN


async def beside(rig: ActivityRig) -> ActivityRig:
    """Another session in the same project."""
    new = NewSession(id=SessionId(new_id(Prefix.SESSION)), directory=str(rig.project), title="Another")
    await sessions.create(rig.database, new, PERSON)
    return ActivityRig(rig.database, rig.loader, rig.project, new.id)


async def test_a_guarded_call_is_answered_like_any_other(rig: ActivityRig) -> None:
    await rig.open_turn()
    calls: list[PartId] = await rig.answered(*[("glob", {"pattern": "*"})] * 3)
    first, second, third = [await rig.asked(call, -1) for call in calls]
    settled = await rig.answer(first, Reply.ALWAYS)
    assert settled.asks == (first, second, third) and settled.grants[0].patterns == ("glob",)
