"""Children: the rows of a subagent are written once, by whoever holds the claim, and it ends with its call."""

import asyncio
import json
from dataclasses import replace

import pytest

from activities.session.children import Children
from activities.store import grants, sessions, tasks
from activities.store.bells import Bell, BellKind
from activities.tools.claim import Claimed
from activities.tools.tool import ABORTED, Child, Errand, Stopped
from tests.activities.scene import Scene
from workflows.domain.agents import BUILT_IN, Agent
from workflows.domain.errors import Conflict, StaleFence, ToolError
from workflows.domain.events import PromptAccepted, SessionCreated, TaskSettled, TaskStarted, TurnEnded, TurnOpened
from workflows.domain.ids import PartId, SessionId, SnapshotId, TurnId
from workflows.domain.messages import CallState
from workflows.domain.permissions.grants import Scope
from workflows.domain.permissions.replies import Reply
from workflows.domain.permissions.rules import Action, evaluate
from workflows.domain.wire import CloseReason, Fence, RanState

EXPLORE = next(agent for agent in BUILT_IN if agent.name == "explore")
GIVEN = {"description": "look", "prompt": "Where is it?", "subagent_type": "explore"}


def errand(agent: Agent = EXPLORE, session: SessionId | None = None) -> Errand:
    return Errand(agent=agent, title="look (@explore subagent)", prompt="Where is it?", session=session)


async def claimed(scene: Scene, **config: object) -> tuple[PartId, Fence]:
    """A claimed call of task, in a turn of its own, and the fence that holds it."""
    if not scene.turn:
        await scene.open_turn(**config)
    call, fence = await scene.called("task", **GIVEN), scene.fence()
    assert isinstance(await scene.claim(call, fence), Claimed)
    return call, fence


async def children(scene: Scene, call: PartId, fence: Fence) -> Children:
    return Children(scene.database, scene.ring, await scene.row(call), fence)


async def begun(scene: Scene, **config: object) -> tuple[PartId, Children, Scene]:
    """A call that a subagent works for: its children, and the scene of its session."""
    call, fence = await claimed(scene, **config)
    delegate = await children(scene, call, fence)
    child = await delegate.start(errand())
    return call, delegate, replace(scene, session=child.session, turn=TurnId(""), step=0, rung=[])


async def works(child: Scene) -> None:
    """Let the subagent take its prompt."""
    loaded = await child.load()
    assert loaded.turn is not None
    child.turn = loaded.turn.id


async def test_a_subagents_session_is_like_its_parents_and_says_whose_it_is(scene: Scene) -> None:
    call, _, child = await begun(scene)
    origin = await sessions.origin(scene.database, child.session)
    created, accepted = await child.events()
    started = (await scene.events())[-1]
    assert isinstance(created, SessionCreated) and created.parent == scene.session
    assert isinstance(accepted, PromptAccepted) and accepted.call == call
    assert isinstance(started, TaskStarted) and (started.call, started.child) == (call, child.session)
    assert (origin.directory, origin.agent, origin.model) == (str(scene.project), "explore", "scripted/model")
    assert origin.ancestors == 1


async def test_its_rules_end_with_what_its_parents_turn_was_denied(scene: Scene) -> None:
    config = {"agent": {"build": {"permission": {"read": {"*.pem": "deny"}}}}}
    _, _, child = await begun(scene, **config)
    await works(child)
    rules = (await scene.database.snapshots.get(scene.database, await snapshot_of(child))).rules
    assert evaluate("read", "key.pem", rules).action is Action.DENY
    assert evaluate("task", "general", rules).action is Action.DENY
    assert evaluate("read", "a.txt", rules).action is Action.ALLOW


async def test_a_second_attempt_finds_the_child_of_the_first(scene: Scene) -> None:
    call, _, child = await begun(scene)
    later = await children(scene, call, scene.fence())
    again = await later.start(errand())
    assert again.session == child.session and len(await sessions.tree(scene.database, scene.session)) == 2


async def test_an_attempt_whose_claim_was_taken_over_begins_nothing(scene: Scene) -> None:
    call, fence = await claimed(scene)
    zombie = await children(scene, call, fence)
    await scene.claim(call, scene.fence())
    with pytest.raises(StaleFence):
        await zombie.start(errand())
    assert await sessions.tree(scene.database, scene.session) == [scene.session]


async def test_nothing_is_begun_once_its_turn_is_being_stopped(scene: Scene) -> None:
    call, fence = await claimed(scene)
    await scene.stop()
    with pytest.raises(Stopped, match=ABORTED):
        await (await children(scene, call, fence)).start(errand())


async def test_a_session_of_somebody_else_is_not_gone_on_with(scene: Scene) -> None:
    call, fence = await claimed(scene)
    for strange in (scene.session, SessionId("ses_0")):
        with pytest.raises(ToolError, match="There is no subagent with the task_id"):
            await (await children(scene, call, fence)).start(errand(session=strange))


async def test_a_subagents_ask_is_not_answered_any_more_once_its_parents_turn_was_stopped(scene: Scene) -> None:
    _, _, child = await begun(scene, permission={"bash": "ask"})
    await works(child)
    ask = await child.asked(await child.called("bash", command="cat a.txt"))
    await scene.stop()
    with pytest.raises(Conflict, match=f"the turn of '{scene.session}' that it works for was stopped by tester@here"):
        await child.answer(ask, Reply.ALWAYS, scope=Scope.PROJECT)
    assert await grants.listed(scene.database) == [] and "answer.refused" in await child.types()


async def test_a_child_is_settled_when_its_turn_has_ended_and_its_parent_is_rung_at(scene: Scene) -> None:
    call, delegate, child = await begun(scene)
    await works(child)
    assert (await looked(delegate)).settled is False
    await child.close()
    settled = await looked(delegate)
    assert (settled.settled, settled.reason) == (True, CloseReason.DONE)
    assert child.rung == [Bell(kind=BellKind.SETTLED, id=call, session=scene.session)]


async def test_a_child_whose_prompt_was_withdrawn_is_settled_and_never_begins(scene: Scene) -> None:
    _, delegate, child = await begun(scene)
    await child.stop()
    settled = await looked(delegate)
    assert (settled.settled, settled.reason) == (True, None)
    assert (await child.load()).turn is None


async def test_the_stop_of_a_child_that_has_not_begun_withdraws_its_prompt(scene: Scene) -> None:
    _, delegate, child = await begun(scene)
    stopped = await delegate.stop()
    assert stopped is not None and stopped.settled and scene.rung == []
    assert "prompt.withdrawn" in await child.types()


async def test_the_stop_of_a_child_waits_for_the_end_of_its_turn(scene: Scene) -> None:
    _, delegate, child = await begun(scene)
    await works(child)
    stopping = asyncio.create_task(delegate.stop())
    while "stop.accepted" not in await child.types():
        await asyncio.sleep(0.02)
    assert not stopping.done()
    await child.close(CloseReason.STOPPED)
    stopped = await stopping
    assert stopped is not None and (stopped.settled, stopped.reason) == (True, CloseReason.STOPPED)
    assert (await child.types()).count("stop.accepted") == 1
    assert {(bell.kind, bell.turn) for bell in scene.rung} == {(BellKind.STOP, child.turn)}


async def test_a_turn_that_is_closed_stops_its_children_first(scene: Scene) -> None:
    call, _, child = await begun(scene)
    await scene.stop()
    await scene.close(CloseReason.STOPPED)
    assert await scene.state(call) is CallState.CANCELLED
    assert [event.type for event in await scene.events() if isinstance(event, TaskSettled | TurnEnded)] == [
        "task.settled",
        "turn.ended",
    ]
    assert "prompt.withdrawn" in await child.types()


async def test_the_log_of_a_call_that_failed_names_the_head_of_its_subagents_too(scene: Scene) -> None:
    await scene.open_turn()
    call = await scene.called("task", **GIVEN)
    begun = await scene.run(call)
    assert begun.child is not None
    child = replace(scene, session=begun.child, turn=TurnId(""), step=0, rung=[])
    await works(child)
    await child.close(CloseReason.FAILED, error="No key.")
    await scene.run(call)
    (settled,) = [event for event in await scene.events() if isinstance(event, TaskSettled)]
    assert await scene.state(call) is CallState.FAILED
    assert (settled.child, settled.seq) == (child.session, len(await child.events()))


async def test_running_the_call_again_tells_how_far_its_child_is(scene: Scene) -> None:
    await scene.open_turn()
    call = await scene.called("task", **GIVEN)
    first = await scene.run(call)
    second = await scene.run(call)
    assert first.child is not None and (first.state, second) == (RanState.STARTED, first)
    child = replace(scene, session=first.child, turn=TurnId(""), step=0, rung=[])
    await works(child)
    await child.close()
    assert (await scene.run(call)).state is RanState.SETTLED
    assert await scene.state(call) is CallState.DONE


async def test_a_task_is_taken_up_on_another_machine(scene: Scene) -> None:
    await scene.open_turn()
    call = await scene.called("task", **GIVEN)
    first = await scene.run(call)
    assert await scene.run(call, machine="another") == first


async def looked(delegate: Children) -> Child:
    child = await delegate.look()
    assert child is not None
    return child


async def snapshot_of(scene: Scene) -> SnapshotId:
    (row,) = await scene.database.rows(b"SELECT snapshot FROM turn WHERE id = %(id)s", id=scene.turn)
    return SnapshotId(row["snapshot"])


async def test_unsettled_tasks_are_those_that_children_work_for_now(scene: Scene) -> None:
    call, _, child = await begun(scene)
    (found,) = await tasks.unsettled(scene.database, scene.session)
    assert (found.call, found.child, found.seq) == (call, child.session, 2)
    await child.stop()
    assert await tasks.unsettled(scene.database, scene.session) == []


async def test_its_model_may_be_a_reference_of_the_users_own_files(scene: Scene) -> None:
    scene.surveyor = replace(scene.surveyor, environ={"SMALL": "scripted/small"})
    scene.config.mkdir(parents=True, exist_ok=True)
    own = {"agent": {"explore": {"model": "{env:SMALL}"}}}
    (scene.config / "opencode.json").write_text(json.dumps(own))
    await scene.open_turn()
    child = (await scene.run(await scene.called("task", **GIVEN))).child
    assert child is not None
    below = replace(scene, session=child)
    await below.load()
    (opened,) = [event for event in await below.events() if isinstance(event, TurnOpened)]
    assert opened.model == "scripted/small"
