"""Subagents: their rows are written once, by the holder of the claim, and they end with their call."""

import asyncio
import json
from dataclasses import replace

import pytest

from activities.calls.claim import Claimed
from activities.calls.subagent import CallSubagent
from activities.store import grants, sessions, tasks
from activities.store.model_answers import NewAnswer
from activities.tools.tool import SubagentStatus, TaskRequest
from tests.activities.rig import BODY, ActivityRig
from workflows.domain.agents.agent import Agent
from workflows.domain.agents.built_in import EXPLORE
from workflows.domain.errors import CallStopped, Conflict, StaleFence, ToolError
from workflows.domain.events.prompts import PromptAccepted
from workflows.domain.events.sessions import SessionCreated
from workflows.domain.events.tasks import TaskSettled, TaskStarted
from workflows.domain.events.turns import TurnEnded, TurnOpened
from workflows.domain.fence import Fence
from workflows.domain.ids import PartId, SessionId, TurnConfigId, TurnId
from workflows.domain.messages import CallState, NewPart, TextPart
from workflows.domain.open_call import CallResultState
from workflows.domain.permissions.grants import GrantScope
from workflows.domain.permissions.replies import Reply
from workflows.domain.permissions.rules import Action
from workflows.domain.wake_signal import WakeKind
from workflows.domain.wire import CloseReason

GIVEN = {"description": "look", "prompt": "Where is it?", "subagent_type": "explore"}


def task_request(agent: Agent = EXPLORE, session: SessionId | None = None) -> TaskRequest:
    return TaskRequest(agent=agent, title="look (@explore subagent)", prompt="Where is it?", session=session)


async def claimed(rig: ActivityRig, **config: object) -> tuple[PartId, Fence]:
    """A claimed call of task in its own turn, and its fence."""
    if not rig.turn:
        await rig.open_turn(**config)
    call, fence = await rig.called("task", **GIVEN), rig.fence()
    assert isinstance(await rig.claim(call, fence), Claimed)
    return call, fence


async def children(rig: ActivityRig, call: PartId, fence: Fence) -> CallSubagent:
    return CallSubagent(rig.database, rig.deliver, await rig.row(call), fence)


async def begun(rig: ActivityRig, **config: object) -> tuple[PartId, CallSubagent, ActivityRig]:
    """A call with a working subagent: its children, and a rig for its session."""
    call, fence = await claimed(rig, **config)
    subagent = await children(rig, call, fence)
    child = await subagent.start(task_request())
    return call, subagent, replace(rig, session=child.session, epoch=0, turn=TurnId(""), step=0, sent=[])


async def works(child: ActivityRig) -> None:
    """Let the subagent take its prompt."""
    loaded = await child.load()
    assert loaded.turn is not None
    child.turn = loaded.turn.id


async def test_a_subagents_session_is_like_its_parents_and_says_whose_it_is(rig: ActivityRig) -> None:
    call, _, child = await begun(rig)
    origin = await sessions.origin(rig.database, child.session)
    created, accepted = await child.events()
    started = (await rig.events())[-1]
    assert isinstance(created, SessionCreated) and created.parent == rig.session
    assert isinstance(accepted, PromptAccepted) and accepted.call == call
    assert isinstance(started, TaskStarted) and (started.call, started.child) == (call, child.session)
    assert (origin.directory, origin.agent, origin.model) == (str(rig.project), "explore", "scripted/model")
    assert origin.ancestors == 1


@pytest.mark.parametrize(("family", "model"), [("opus", "scripted/claude-opus-5"), ("haiku", "scripted/model")])
async def test_the_family_of_its_model_is_looked_for_where_its_parents_model_is(
    rig: ActivityRig, family: str, model: str
) -> None:
    models = {"options": {"baseURL": "http://127.0.0.1:9/v1"}, "models": {"model": {}, "claude-opus-5": {}}}
    rig.file(str(rig.config / "opencode.json"), json.dumps({"provider": {"scripted": models}}))
    call, fence = await claimed(rig, model="configured/model", agent={"explore": {"model": family}})
    explore = EXPLORE.model_copy(update={"model": family})
    started = await (await children(rig, call, fence)).start(task_request(explore))
    child = replace(rig, session=started.session, epoch=0, turn=TurnId(""), step=0, sent=[])
    await works(child)
    assert [each.model for each in await child.events() if isinstance(each, TurnOpened)] == [model]


async def test_its_rules_end_with_what_its_parents_turn_was_denied(rig: ActivityRig) -> None:
    config = {"agent": {"build": {"permission": {"read": {"*.pem": "deny"}}}}}
    _, _, child = await begun(rig, **config)
    await works(child)
    rules = (await rig.database.turn_configs.get(rig.database, await snapshot_of(child))).rules
    assert rules.action("read", "key.pem") is Action.DENY
    assert rules.action("task", "general") is Action.DENY
    assert rules.action("read", "a.txt") is Action.ALLOW


async def test_a_second_attempt_finds_the_child_of_the_first(rig: ActivityRig) -> None:
    call, _, child = await begun(rig)
    later = await children(rig, call, rig.fence())
    again = await later.start(task_request())
    assert again.session == child.session and len(await sessions.tree(rig.database, rig.session)) == 2


async def test_an_attempt_whose_claim_was_taken_over_begins_nothing(rig: ActivityRig) -> None:
    call, fence = await claimed(rig)
    zombie = await children(rig, call, fence)
    await rig.claim(call, rig.fence())
    with pytest.raises(StaleFence):
        await zombie.start(task_request())
    assert await sessions.tree(rig.database, rig.session) == [rig.session]


async def test_nothing_is_begun_once_its_turn_is_being_stopped(rig: ActivityRig) -> None:
    call, fence = await claimed(rig)
    await rig.stop()
    with pytest.raises(CallStopped, match="Not run: the turn ended"):
        await (await children(rig, call, fence)).start(task_request())


async def test_a_session_of_somebody_else_is_not_gone_on_with(rig: ActivityRig) -> None:
    call, fence = await claimed(rig)
    for strange in (rig.session, SessionId("ses_0")):
        with pytest.raises(ToolError, match="There is no subagent with the task_id"):
            await (await children(rig, call, fence)).start(task_request(session=strange))


async def test_a_subagents_ask_is_not_answered_any_more_once_its_parents_turn_was_stopped(rig: ActivityRig) -> None:
    _, _, child = await begun(rig, permission={"bash": "ask"})
    await works(child)
    ask = await child.asked(await child.called("bash", command="cat a.txt"))
    await rig.stop()
    with pytest.raises(Conflict, match=f"the turn of '{rig.session}' that it works for was stopped by tester@here"):
        await child.answer(ask, Reply.ALWAYS, scope=GrantScope.PROJECT)
    assert await grants.list_all(rig.database) == [] and "answer.refused" in await child.types()


async def test_a_child_is_settled_when_its_turn_has_ended_and_its_parent_is_signalled(rig: ActivityRig) -> None:
    call, subagent, child = await begun(rig)
    await works(child)
    assert (await looked(subagent)).settled is False
    await child.close()
    settled = await looked(subagent)
    assert (settled.settled, settled.reason) == (True, CloseReason.DONE)
    assert [(each.session, each.kind, each.subject) for each in child.sent] == [(rig.session, WakeKind.SETTLED, call)]


async def test_a_child_whose_prompt_was_withdrawn_is_settled_and_never_begins(rig: ActivityRig) -> None:
    _, subagent, child = await begun(rig)
    await child.stop()
    settled = await looked(subagent)
    assert (settled.settled, settled.reason) == (True, None)
    assert (await child.load()).turn is None


async def test_the_stop_of_a_child_that_has_not_begun_withdraws_its_prompt(rig: ActivityRig) -> None:
    _, subagent, child = await begun(rig)
    stopped = await subagent.stop()
    assert stopped is not None and stopped.settled and rig.sent == []
    assert "prompt.withdrawn" in await child.types()


async def test_the_stop_of_a_child_waits_for_the_end_of_its_turn(rig: ActivityRig) -> None:
    _, subagent, child = await begun(rig)
    await works(child)
    words = NewPart(id=PartId("prt_words"), position=0, body=TextPart(text="It is setup.py that counts."))
    await child.store_answer(child.generation(1), NewAnswer(body=BODY, parts=(words,)))
    child.step = 1
    await child.called("bash", command="true")
    stopping = asyncio.create_task(subagent.stop())
    while "stop.accepted" not in await child.types():
        await asyncio.sleep(0.02)
    assert not stopping.done()
    await child.close(CloseReason.STOPPED)
    stopped = await stopping
    assert stopped is not None and (stopped.settled, stopped.reason) == (True, CloseReason.STOPPED)
    assert stopped.text == "It is setup.py that counts."
    assert (await child.types()).count("stop.accepted") == 1
    assert {(each.kind, each.turn) for each in rig.sent} == {(WakeKind.STOP, child.turn)}


async def test_a_turn_that_is_closed_stops_its_children_first(rig: ActivityRig) -> None:
    call, _, child = await begun(rig)
    await rig.stop()
    await rig.close(CloseReason.STOPPED)
    assert await rig.state(call) is CallState.CANCELLED
    assert [event.type for event in await rig.events() if isinstance(event, TaskSettled | TurnEnded)] == [
        "task.settled",
        "turn.ended",
    ]
    assert "prompt.withdrawn" in await child.types()


async def test_the_log_of_a_call_that_failed_names_the_head_of_its_subagents_too(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await rig.called("task", **GIVEN)
    begun = await rig.run(call)
    assert begun.child is not None
    child = replace(rig, session=begun.child, epoch=0, turn=TurnId(""), step=0, sent=[])
    await works(child)
    await child.close(CloseReason.FAILED, error="No key.")
    await rig.run(call)
    (settled,) = [event for event in await rig.events() if isinstance(event, TaskSettled)]
    assert await rig.state(call) is CallState.FAILED
    assert (settled.child, settled.seq) == (child.session, len(await child.events()))


async def test_running_the_call_again_tells_how_far_its_child_is(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await rig.called("task", **GIVEN)
    first = await rig.run(call)
    second = await rig.run(call)
    assert first.child is not None and (first.state, second) == (CallResultState.DELEGATED, first)
    child = replace(rig, session=first.child, epoch=0, turn=TurnId(""), step=0, sent=[])
    await works(child)
    await child.close()
    assert (await rig.run(call)).state is CallResultState.SETTLED
    assert await rig.state(call) is CallState.DONE


async def test_a_task_is_taken_up_on_another_machine(rig: ActivityRig) -> None:
    await rig.open_turn()
    call = await rig.called("task", **GIVEN)
    first = await rig.run(call)
    assert await rig.run(call, machine="another") == first


async def looked(subagent: CallSubagent) -> SubagentStatus:
    child = await subagent.status()
    assert child is not None
    return child


async def snapshot_of(rig: ActivityRig) -> TurnConfigId:
    (row,) = await rig.database.rows(b"SELECT turn_config FROM turn WHERE id = %(id)s", id=rig.turn)
    return TurnConfigId(row["turn_config"])


async def test_unsettled_tasks_are_those_that_children_work_for_now(rig: ActivityRig) -> None:
    call, _, child = await begun(rig)
    (found,) = await tasks.unsettled(rig.database, rig.session)
    assert (found.call, found.child, found.seq) == (call, child.session, 2)
    await child.stop()
    assert await tasks.unsettled(rig.database, rig.session) == []


async def test_its_model_may_be_a_reference_of_the_users_own_files(rig: ActivityRig) -> None:
    rig.loader = replace(rig.loader, environ={"SMALL": "scripted/small"})
    rig.config.mkdir(parents=True, exist_ok=True)
    own = {"agent": {"explore": {"model": "{env:SMALL}"}}}
    rig.file(str(rig.config / "opencode.json"), json.dumps(own))
    await rig.open_turn()
    child = (await rig.run(await rig.called("task", **GIVEN))).child
    assert child is not None
    below = replace(rig, session=child, epoch=0)
    await below.load()
    (journal,) = [event for event in await below.events() if isinstance(event, TurnOpened)]
    assert journal.model == "scripted/small"
