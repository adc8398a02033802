"""Answers: one decision settles an ask, and everything that goes with it."""

from datetime import UTC, datetime

import pytest

from activities.session import answers
from activities.store import grants, sessions
from activities.store.sessions import NewSession
from tests.activities.scene import PERSON, Scene
from workflows.domain.errors import Conflict, NotFound
from workflows.domain.events import AnswerRefused, AskAnswered, GrantMade
from workflows.domain.ids import AskId, PartId, Prefix, SessionId
from workflows.domain.permissions.grants import Scope
from workflows.domain.permissions.replies import Reply
from workflows.domain.wire import AskState

ASK = {"permission": {"edit": "ask", "bash": "ask"}}


async def writing(scene: Scene, *names: str) -> list[AskId]:
    """Open asks for writing these files."""
    await scene.open_turn(**ASK)
    calls = await scene.answered(*(("write", {"filePath": name, "content": "x"}) for name in names))
    return [await scene.asked(call) for call in calls]


async def refusals(scene: Scene) -> list[str]:
    return [event.reason for event in await scene.events() if isinstance(event, AnswerRefused)]


async def test_once_settles_the_ask_with_who_and_when(scene: Scene) -> None:
    ask, other = await writing(scene, "sub/a.txt", "sub/b.txt")
    settled = await scene.answer(ask)
    assert (settled.asks, settled.grant, settled.repeated) == ((ask,), None, False)
    assert (settled.ask.state, settled.ask.reply, settled.ask.author) == (AskState.ANSWERED, Reply.ONCE, PERSON.subject)
    assert (await scene.ask_row(other)).state is AskState.OPEN


@pytest.mark.parametrize(
    ("reply", "feedback"), [(Reply.ONCE, None), (Reply.ALWAYS, None), (Reply.REJECT, None), (Reply.REJECT, "no")]
)
async def test_the_same_decision_again_gets_the_first_record(scene: Scene, reply: Reply, feedback: str | None) -> None:
    (ask,) = await writing(scene, "sub/a.txt")
    first = await scene.answer(ask, reply, feedback=feedback)
    events = await scene.events()
    again = await scene.answer(ask, reply, feedback=feedback)
    assert again.repeated and again.ask == first.ask and again.asks == (ask,)
    assert await scene.events() == events


async def test_a_wider_always_is_another_decision(scene: Scene) -> None:
    (ask,) = await writing(scene, "sub/a.txt")
    await scene.answer(ask, Reply.ALWAYS)
    with pytest.raises(Conflict, match="already answered always"):
        await scene.answer(ask, Reply.ALWAYS, scope=Scope.PROJECT)


@pytest.mark.parametrize("other", [{"reply": Reply.ONCE}, {"reply": Reply.REJECT, "feedback": "another"}])
async def test_another_decision_is_refused_and_told_who_came_first(scene: Scene, other: dict[str, str]) -> None:
    (ask,) = await writing(scene, "sub/a.txt")
    await scene.answer(ask, Reply.REJECT, feedback="no")
    with pytest.raises(Conflict, match=r"already answered reject by tester@here \(20"):
        await scene.answer(ask, Reply(other["reply"]), feedback=other.get("feedback"))
    assert len(await refusals(scene)) == 1 and (await scene.ask_row(ask)).feedback == "no"


async def test_an_answer_after_the_turn_is_refused_with_the_reason(scene: Scene) -> None:
    (ask,) = await writing(scene, "sub/a.txt")
    await scene.stop()
    await scene.close()
    with pytest.raises(Conflict, match="was closed before your answer: the turn ended"):
        await scene.answer(ask)
    assert len(await refusals(scene)) == 1


@pytest.mark.parametrize("reply", list(Reply))
@pytest.mark.parametrize("ended", [False, True])
async def test_an_answer_after_an_accepted_stop_or_end_is_refused_and_grants_nothing(
    scene: Scene, reply: Reply, ended: bool
) -> None:
    (ask,) = await writing(scene, "sub/a.txt")
    await (scene.end() if ended else scene.stop())
    reason = f"session '{scene.session}' has ended" if ended else r"its turn was stopped by tester@here \(20"
    with pytest.raises(Conflict, match=reason):
        await scene.answer(ask, reply, scope=Scope.PROJECT)
    assert await grants.listed(scene.database) == [] and (await scene.ask_row(ask)).state is AskState.OPEN
    assert len(await refusals(scene)) == 1


async def test_the_first_answer_stays_accepted_after_a_stop(scene: Scene) -> None:
    (ask,) = await writing(scene, "sub/a.txt")
    await scene.answer(ask)
    await scene.stop()
    assert (await scene.answer(ask)).repeated


async def test_a_projects_grant_does_not_reach_a_turn_that_was_stopped(scene: Scene) -> None:
    (ask,) = await writing(scene, "sub/a.txt")
    other = await beside(scene)
    (waiting,) = await writing(other, "sub/b.txt")
    await other.stop()
    settled = await scene.answer(ask, Reply.ALWAYS, scope=Scope.PROJECT)
    assert settled.grant is not None and await answers.spread(scene.database, settled.grant.id) == []
    assert (await other.ask_row(waiting)).state is AskState.OPEN


async def test_b05_an_answer_to_an_ask_that_is_not_there_is_never_accepted(scene: Scene) -> None:
    with pytest.raises(NotFound, match="There is no ask 'per_x'"):
        await scene.answer(AskId("per_x"))


async def test_an_answer_to_another_effect_than_was_seen_is_refused(scene: Scene) -> None:
    (ask,) = await writing(scene, "sub/a.txt")
    with pytest.raises(Conflict, match="is not what you saw"):
        await scene.answer(ask, digest="0" * 64)
    assert len(await refusals(scene)) == 1
    await scene.answer(ask, digest=(await scene.ask_row(ask)).digest)
    assert (await scene.ask_row(ask)).state is AskState.ANSWERED


async def test_always_with_nothing_to_save_is_refused_and_once_still_works(scene: Scene) -> None:
    (ask,) = await writing(scene, "opencode.json")
    with pytest.raises(Conflict, match="Nothing of ask .* may be saved"):
        await scene.answer(ask, Reply.ALWAYS)
    assert await grants.listed(scene.database) == [] and not (await scene.answer(ask)).repeated


async def test_always_keeps_a_grant_and_releases_what_it_covers(scene: Scene) -> None:
    ask, covered, outside = await writing(scene, "sub/a.txt", "sub/b.txt", "other/c.txt")
    settled = await scene.answer(ask, Reply.ALWAYS)
    assert settled.asks == (ask, covered) and settled.grant is not None
    assert settled.grant.patterns == ("sub/**",) and settled.grant.author == PERSON.subject
    assert (await scene.ask_row(covered)).by_grant == settled.grant.id
    assert (await scene.ask_row(outside)).state is AskState.OPEN
    made = [event for event in await scene.events() if isinstance(event, GrantMade)]
    assert [(event.grant, event.ask, event.scope) for event in made] == [(settled.grant.id, ask, "session")]


async def test_who_was_released_by_a_grant_may_still_be_answered_as_conflict(scene: Scene) -> None:
    ask, covered = await writing(scene, "sub/a.txt", "sub/b.txt")
    await scene.answer(ask, Reply.ALWAYS)
    with pytest.raises(Conflict, match="already answered always"):
        await scene.answer(covered, Reply.ALWAYS)


async def test_a_reject_carries_the_sessions_other_asks_along_without_its_words(scene: Scene) -> None:
    ask, other = await writing(scene, "sub/a.txt", "other/b.txt")
    settled = await scene.answer(ask, Reply.REJECT, feedback="use c.txt")
    row = await scene.ask_row(other)
    assert settled.asks == (ask, other)
    assert (row.reply, row.feedback, row.by_grant) == (Reply.REJECT, None, None)


async def test_feedback_is_named_by_its_seal_only(scene: Scene) -> None:
    (ask,) = await writing(scene, "sub/a.txt")
    await scene.answer(ask, Reply.REJECT, feedback="a secret reason")
    (answered,) = [event for event in await scene.events() if isinstance(event, AskAnswered)]
    assert answered.feedback_seal is not None and "secret" not in answered.model_dump_json()


async def test_a_projects_grant_reaches_its_other_sessions_once_it_is_spread(scene: Scene) -> None:
    (ask,) = await writing(scene, "sub/a.txt")
    other = await beside(scene)
    (waiting,) = await writing(other, "sub/b.txt")
    await scene.answer(ask, Reply.ALWAYS, scope=Scope.PROJECT)
    assert (await scene.ask_row(waiting)).state is AskState.OPEN
    (grant,) = await grants.unspread(scene.database, datetime.now(UTC))
    assert await answers.spread(scene.database, grant) == [(other.session, waiting)]
    assert await answers.spread(scene.database, grant) == []
    await grants.spread(scene.database, grant)
    assert await grants.unspread(scene.database, datetime.now(UTC)) == []


async def test_a_sessions_grant_does_not_leave_it(scene: Scene) -> None:
    (ask,) = await writing(scene, "sub/a.txt")
    other = await beside(scene)
    (waiting,) = await writing(other, "sub/b.txt")
    await scene.answer(ask, Reply.ALWAYS)
    assert await grants.unspread(scene.database, datetime.now(UTC)) == []
    assert await answers.release(scene.database, other.session) == ()
    assert (await other.ask_row(waiting)).state is AskState.OPEN


async def beside(scene: Scene) -> Scene:
    """Another session in the same project."""
    new = NewSession(id=SessionId(scene.mint.new(Prefix.SESSION)), directory=str(scene.project), title="Another")
    await sessions.create(scene.database, new, PERSON)
    return Scene(scene.database, scene.surveyor, scene.project, new.id)


async def test_a_guarded_call_is_answered_like_any_other(scene: Scene) -> None:
    await scene.open_turn()
    calls: list[PartId] = await scene.answered(*[("glob", {"pattern": "*"})] * 3)
    first, second, third = [await scene.asked(call, -1) for call in calls]
    settled = await scene.answer(first, Reply.ALWAYS)
    assert settled.asks == (first, second, third) and settled.grant is not None
    assert settled.grant.patterns == ("glob",)
