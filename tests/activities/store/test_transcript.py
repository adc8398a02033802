"""The transcript: what was said, in the order in which the model saw and gave it."""

from activities.store import generations, transcript
from activities.store.generations import NewAnswer
from activities.store.prompts import Mode
from tests.activities.scene import BODY, Scene
from tests.activities.store.test_generations import ANSWER, FIRST
from workflows.domain.ids import MessageId, TurnId
from workflows.domain.messages import AssistantMessage, CallState, ToolPart, Transcript, UserMessage


async def read(scene: Scene) -> Transcript:
    async with scene.journal() as opened:
        return await transcript.read(opened, scene.session)


async def answer(scene: Scene, step: int, name: str) -> None:
    async with scene.journal() as opened:
        await generations.begin(opened, scene.turn, step, FIRST)
        await generations.commit(opened, scene.turn, step, FIRST, NewAnswer(id=MessageId(name), body=BODY))


async def test_a_steered_prompt_stands_before_the_answer_that_has_seen_it(scene: Scene) -> None:
    await scene.open_turn()
    await answer(scene, 1, "msg_b")
    steered = await scene.prompt("Also this.")
    queued = await scene.prompt("Later.", mode=Mode.QUEUE)
    await answer(scene, 2, "msg_a")
    messages = await read(scene)
    assert [message.id for message in messages][1:] == ["msg_b", steered, "msg_a"]
    assert [message.steered for message in messages if isinstance(message, UserMessage)] == [False, True]
    assert queued not in [message.id for message in messages]


async def test_turns_follow_each_other_whatever_their_ids(scene: Scene) -> None:
    opened = []
    for name in ("msg_z", "msg_y"):
        opened.append((await scene.open_turn()).id)
        await answer(scene, 1, name)
        await scene.close()
    assert [message.turn for message in await read(scene)] == [turn for turn in opened for _ in range(2)]


async def test_parts_stand_in_the_order_of_the_answer_as_they_were_said(scene: Scene) -> None:
    await scene.open_turn()
    async with scene.journal() as opened:
        await generations.begin(opened, scene.turn, 1, FIRST)
        await generations.commit(opened, scene.turn, 1, FIRST, ANSWER)
    message = (await read(scene))[-1]
    assert isinstance(message, AssistantMessage)
    assert message.parts == tuple(part.body for part in ANSWER.parts) and message.body == BODY


async def test_a_call_carries_its_outcome_as_soon_as_it_has_one(scene: Scene) -> None:
    await scene.open_turn()
    done, waiting = await scene.answered(("glob", {"pattern": "*"}), ("glob", {"pattern": "x"}))
    await scene.run(done)
    message = (await read(scene))[-1]
    assert isinstance(message, AssistantMessage)
    found = [(part.id, part.state, part.outcome is not None) for part in message.parts if isinstance(part, ToolPart)]
    assert found == [(done, CallState.DONE, True), (waiting, CallState.PREPARED, False)]


async def test_withdrawn_and_waiting_prompts_are_not_in_it(scene: Scene) -> None:
    await scene.prompt("Never mind.")
    await scene.stop()
    await scene.prompt("Not yet.")
    assert await read(scene) == () and scene.turn == TurnId("")
