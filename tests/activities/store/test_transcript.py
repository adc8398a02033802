"""The transcript: all texts in the model's order."""

from activities.store import transcript
from activities.store.model_answers import NewAnswer
from tests.activities.rig import BODY, ActivityRig
from tests.activities.store.test_generations import ANSWER
from workflows.domain.ids import TurnId
from workflows.domain.messages import AssistantMessage, CallState, ToolPart, Transcript, UserMessage
from workflows.domain.prompt import PromptMode


async def read(rig: ActivityRig) -> Transcript:
    async with rig.journal() as journal:
        return await transcript.read(journal, rig.session)


async def answer(rig: ActivityRig, step: int, name: str) -> None:
    await rig.store_answer(rig.generation(step, name), NewAnswer(body=BODY))


async def test_a_steered_prompt_stands_before_the_answer_that_has_seen_it(rig: ActivityRig) -> None:
    await rig.open_turn()
    await answer(rig, 1, "gen_b")
    steered = await rig.prompt("Also this.")
    queued = await rig.prompt("Later.", mode=PromptMode.QUEUE)
    await answer(rig, 2, "gen_a")
    messages = await read(rig)
    assert [message.id for message in messages][1:] == ["msg_b", steered, "msg_a"]
    assert [message.steered for message in messages if isinstance(message, UserMessage)] == [False, True]
    assert queued not in [message.id for message in messages]


async def test_turns_follow_each_other_whatever_their_ids(rig: ActivityRig) -> None:
    journal = []
    for name in ("gen_z", "gen_y"):
        journal.append((await rig.open_turn()).id)
        await answer(rig, 1, name)
        await rig.close()
    assert [message.turn for message in await read(rig)] == [turn for turn in journal for _ in range(2)]


async def test_parts_stand_in_the_order_of_the_answer(rig: ActivityRig) -> None:
    await rig.open_turn()
    await rig.store_answer(rig.generation(1), ANSWER)
    message = (await read(rig))[-1]
    assert isinstance(message, AssistantMessage)
    assert message.parts == tuple(part.body for part in ANSWER.parts) and message.body == BODY


async def test_a_call_carries_its_outcome_as_soon_as_it_has_one(rig: ActivityRig) -> None:
    await rig.open_turn()
    done, waiting = await rig.answered(("glob", {"pattern": "*"}), ("glob", {"pattern": "x"}))
    await rig.run(done)
    message = (await read(rig))[-1]
    assert isinstance(message, AssistantMessage)
    found = [(part.id, part.state, part.outcome is not None) for part in message.parts if isinstance(part, ToolPart)]
    assert found == [(done, CallState.DONE, True), (waiting, CallState.PREPARED, False)]


async def test_withdrawn_and_waiting_prompts_are_not_in_it(rig: ActivityRig) -> None:
    await rig.prompt("Never mind.")
    await rig.stop()
    await rig.prompt("Not yet.")
    assert await read(rig) == () and rig.turn == TurnId("")
