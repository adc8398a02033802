"""Project.load: what the rows and the directory say there is to do."""

import dataclasses
import json
import shutil

import pytest

from activities.session.project import NO_MODEL
from activities.store import calls, generations, parks, turns
from activities.store.generations import NewAnswer, NewPart
from activities.store.prompts import Mode
from activities.tools.run import aborted
from tests.activities.scene import BODY, CHAIN, Scene
from workflows.domain.errors import StaleFence
from workflows.domain.events import PromptTaken, SessionParked, TurnOpened
from workflows.domain.ids import MessageId, PartId
from workflows.domain.messages import CallState, TextPart
from workflows.domain.parking import ParkReason
from workflows.domain.permissions.replies import Reply
from workflows.domain.state import GUARD
from workflows.domain.wire import Loaded, OpenTurn

WRITE = {"filePath": "a.txt", "content": "x"}


async def loaded(scene: Scene) -> OpenTurn:
    turn = (await scene.load()).turn
    assert turn is not None
    return turn


async def test_without_a_prompt_there_is_nothing_to_do(scene: Scene) -> None:
    assert await scene.load() == Loaded()
    assert await scene.types() == ["session.created"]


async def test_the_oldest_prompt_opens_the_turn_and_is_taken_at_its_first_step(scene: Scene) -> None:
    first = await scene.prompt("First", model="scripted/model")
    await scene.prompt("Second", mode=Mode.QUEUE)
    turn = await loaded(scene)
    taken = [event for event in await scene.events() if isinstance(event, PromptTaken)]
    assert taken == [PromptTaken(prompt=first, turn=turn.id, step=1)]
    assert (turn.number, turn.step, turn.error) == (1, 0, None)


async def test_a_second_attempt_finds_the_turn_of_the_first(scene: Scene) -> None:
    opened = await scene.open_turn()
    assert (await scene.load(attempt=2)).turn == opened
    assert (await scene.types()).count("turn.opened") == 1


async def test_a_turn_has_the_prompts_model_else_the_sessions_else_the_configured_one(scene: Scene) -> None:
    scene.file("opencode.json", json.dumps({"model": "configured/model"}))
    for given in ("scripted/model", None):
        await scene.prompt(model=given)
        scene.turn = (await loaded(scene)).id
        await scene.close()
    opened = [event.model for event in await scene.events() if isinstance(event, TurnOpened)]
    assert opened == ["scripted/model", "configured/model"]


async def test_turns_are_numbered_and_their_rules_frozen(scene: Scene) -> None:
    await scene.open_turn(permission={"edit": "deny"})
    call = await scene.called("write", **WRITE)
    scene.file("opencode.json", "{}")
    turn = await loaded(scene)
    assert turn.answer is not None
    assert [finding.action for finding in turn.answer.calls[0].findings] == ["deny"]
    await scene.close()
    assert (await scene.open_turn()).number == 2 and await scene.state(call) is CallState.CANCELLED


async def test_an_open_turn_is_adopted_at_its_highest_step_with_its_calls(scene: Scene) -> None:
    await scene.open_turn(permission={"edit": "ask"})
    await scene.called("glob", pattern="*")
    settled, asked, answered = await scene.answered(
        ("glob", {"pattern": "*"}), ("write", WRITE), ("write", {**WRITE, "filePath": "b.txt"})
    )
    await scene.run(settled)
    ask = await scene.asked(asked)
    await scene.answer(await scene.asked(answered))
    turn = await loaded(scene)
    assert turn.step == 2 and turn.answer is not None and len(turn.recent) == 1
    assert [call.settled for call in turn.answer.calls] == [True, False, False]
    assert [(call.ask, call.request, call.answered) for call in turn.answer.calls[1:]] == [
        (ask, 0, ()),
        (None, None, (0,)),
    ]


async def test_a_registered_step_without_an_answer_is_told_as_that(scene: Scene) -> None:
    await scene.open_turn()
    async with scene.journal() as opened:
        turns.registered(opened, scene.turn, 3)
    turn = await loaded(scene)
    assert (turn.step, turn.answer) == (3, None)


async def test_asks_of_an_earlier_revision_are_not_resumed_but_the_loop_guards_is(scene: Scene) -> None:
    await scene.open_turn(permission={"edit": "ask"})
    scene.file("a.txt", "one\n")
    call = await scene.called("edit", filePath="a.txt", oldString="one", newString="two")
    await scene.answer(await scene.asked(call))
    await scene.answer(await scene.asked(call, GUARD))
    scene.file("a.txt", "one\nmore\n")
    await scene.claim(call, guarded=True)
    turn = await loaded(scene)
    assert turn.answer is not None
    assert (turn.answer.calls[0].revision, turn.answer.calls[0].answered) == (1, (GUARD,))


async def test_a_stop_and_a_rejection_are_remembered(scene: Scene) -> None:
    await scene.open_turn(permission={"edit": "ask"})
    call = await scene.called("write", **WRITE)
    await scene.answer(await scene.asked(call), Reply.REJECT)
    await scene.stop()
    turn = await loaded(scene)
    assert (turn.stopped, turn.rejected, turn.goes_on_after_reject) == (True, True, False)


async def test_going_on_after_a_rejection_is_a_setting(scene: Scene) -> None:
    assert (await scene.open_turn(experimental={"continue_loop_on_deny": True})).goes_on_after_reject


@pytest.mark.parametrize("name", ["steps", "maxSteps"])
async def test_the_agents_steps_are_the_turns(scene: Scene, name: str) -> None:
    assert (await scene.open_turn(agent={"build": {name: 7}})).max_steps == 7


@pytest.mark.parametrize(("steps", "text"), [(1, False), (2, None)])
async def test_an_answer_of_the_last_step_is_resumed_with_whether_it_has_text(
    scene: Scene, steps: int, text: bool | None
) -> None:
    await scene.open_turn(agent={"build": {"steps": steps}})
    await scene.called("write", **WRITE)

    turn = await loaded(scene)

    assert turn.answer is not None and (turn.step, turn.answer.text) == (1, text)


async def test_an_answer_that_text_columns_refuse_is_resumed(scene: Scene) -> None:
    await scene.open_turn(agent={"build": {"steps": 1}})
    part = NewPart(id=PartId("prt_odd"), position=0, body=TextPart(text="a\0\ud800b"))
    fence = scene.fence()
    async with scene.journal() as opened:
        await generations.begin(opened, scene.turn, 1, fence)
        await generations.commit(
            opened, scene.turn, 1, fence, NewAnswer(id=MessageId("msg_odd"), body=BODY, parts=(part,))
        )

    turn = await loaded(scene)

    assert turn.answer is not None and turn.answer.text is True


async def test_an_ended_session_opens_no_turn_but_tells_of_the_open_one(scene: Scene) -> None:
    await scene.prompt()
    await scene.end()
    assert await scene.load() == Loaded(ended=True)


async def test_the_open_turn_of_an_ended_session_is_there_to_be_closed(scene: Scene) -> None:
    turn = await scene.open_turn()
    await scene.end()
    assert await scene.load() == Loaded(turn=turn, ended=True)


async def broken_file(scene: Scene) -> None:
    scene.file("opencode.json", "{ no json")


async def wrong_field(scene: Scene) -> None:
    scene.file("opencode.json", '{"permission": {"edit": "perhaps"}}')


@pytest.mark.parametrize(("spoil", "said"), [(broken_file, "opencode.json"), (wrong_field, "permission")])
async def test_a_directory_that_cannot_be_read_fails_the_turn_and_not_the_session(
    scene: Scene, spoil: object, said: str
) -> None:
    assert callable(spoil)
    await spoil(scene)
    await scene.prompt(model="scripted/model")
    turn = await loaded(scene)
    assert turn.error is not None and said in turn.error


async def delete(scene: Scene) -> None:
    shutil.rmtree(scene.project)


async def replace(scene: Scene) -> None:
    scene.project.rename(scene.project.with_name("moved"))
    scene.project.mkdir()


async def switch(scene: Scene) -> None:
    scene.file(".git/HEAD", "ref: refs/heads/other\n")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [(delete, ParkReason.GONE), (replace, ParkReason.REPLACED), (switch, ParkReason.BRANCH)],
)
async def test_a_directory_that_is_not_as_the_last_turn_has_left_it_parks_the_session(
    scene: Scene, spoil: object, reason: ParkReason
) -> None:
    scene.file(".git/HEAD", "ref: refs/heads/main\n")
    await scene.open_turn()
    await scene.close()
    assert callable(spoil)
    await spoil(scene)
    await scene.prompt(model="scripted/model")
    loaded = [await scene.load() for _ in range(2)]
    (parked,) = [event for event in await scene.events() if isinstance(event, SessionParked)]
    assert loaded == [Loaded(), Loaded()] and parked.reason is reason


async def test_a_person_lets_it_go_on_with_the_directory_as_it_is_now(scene: Scene) -> None:
    scene.file(".git/HEAD", "ref: refs/heads/main\n")
    await scene.open_turn()
    await scene.close()
    await switch(scene)
    await scene.prompt(model="scripted/model")
    await scene.load()
    async with scene.journal() as opened:
        await parks.resume(opened)
    scene.turn = (await loaded(scene)).id
    await scene.close()
    await scene.prompt(model="scripted/model")
    assert (await loaded(scene)).number == 3


async def test_a_directory_that_is_still_not_there_parks_again(scene: Scene) -> None:
    await delete(scene)
    await scene.prompt(model="scripted/model")
    for _ in range(2):
        assert await scene.load() == Loaded()
        async with scene.journal() as opened:
            await parks.resume(opened)


async def test_without_a_model_the_turn_says_how_to_choose_one(scene: Scene) -> None:
    await scene.prompt()
    assert (await loaded(scene)).error == NO_MODEL


async def test_what_is_wrong_with_a_turn_is_still_known_to_whoever_takes_it_over(scene: Scene) -> None:
    await broken_file(scene)
    await scene.prompt(model="scripted/model")
    first = await loaded(scene)
    assert await loaded(scene) == first


async def test_an_earlier_chain_loads_nothing(scene: Scene) -> None:
    await scene.open_turn()
    scene.chain = CHAIN + 1
    await scene.load()
    scene.chain = CHAIN
    with pytest.raises(StaleFence, match="later chain"):
        await scene.load()


async def test_a_subagent_begins_nothing_for_a_call_that_is_over(scene: Scene) -> None:
    await scene.open_turn()
    hands_over = {"description": "look", "prompt": "Where is it?", "subagent_type": "explore"}
    call = await scene.called("task", **hands_over)
    child = (await scene.run(call)).child
    assert child is not None
    async with scene.journal() as opened:
        calls.settle(opened, await calls.lock(opened, call), CallState.CANCELLED, aborted())
    begun = dataclasses.replace(scene, session=child)
    assert await begun.load() == Loaded()
    assert (await begun.types())[-1] == "prompt.withdrawn"
