"""Stops and prompts around the edges of turns (reliability.md rows 34, 50 to 52; bugs B1 and B3)."""

import asyncio
from pathlib import Path

import pytest

from activities.store.bells import Bell, BellKind
from tests.acceptance.conftest import Open
from tests.acceptance.door import Door
from tests.acceptance.scenarios import DONE, runs
from tests.acceptance.trial import Trial
from tests.house import reached
from worker.bells import workflow_id
from worker.client import SessionClient
from worker.scripted.script import Hold, ScriptedAnswer
from workflows.domain.events import TurnEnded
from workflows.domain.ids import SessionId
from workflows.domain.messages import CallState, UserMessage

pytestmark = pytest.mark.acceptance


def held(*gates: Path) -> ScriptedAnswer:
    """An answer that stops on its way: the first time it is asked for at the first gate, and so on."""
    faults = {number: Hold(after=1, path=str(gate)) for number, gate in enumerate(gates, 1)}
    return ScriptedAnswer(text="An answer of some length.", faults=dict(faults))


async def reasons(trial: Trial, session: SessionId) -> list[str]:
    return [event.reason for event in await trial.house.events(session) if isinstance(event, TurnEnded)]


async def test_row_34_a_stopped_command_is_gone_and_a_prompt_right_after_it_gets_its_turn(open_trial: Open) -> None:
    async with open_trial(runs("one", hold=True), DONE) as trial:
        await trial.worker()
        session = await trial.say("Run it.")
        await trial.effects.reached("one")
        await trial.door.stop(session)
        await trial.door.stop(session)
        await trial.door.prompt(session, "Something else.")
        await trial.house.ended(session, 2)
        (call,) = await trial.house.calls(session)
        assert await reasons(trial, session) == ["stopped", "done"]
    assert call.state is CallState.CANCELLED


async def test_row_52_a_retried_stop_leaves_the_next_turn_alone(open_trial: Open, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    async with open_trial(held(first, second)) as trial:
        trial.wasted = 1
        await trial.worker()
        session = await trial.say("A long task.")
        await reached(first)
        stopped = await trial.door.stop(session)
        await trial.door.prompt(session, "Something else.")
        await reached(second)
        again = await trial.house.client.stop(session, stop=stopped.stop)
        await trial.house.client.ring(Bell(kind=BellKind.STOP, id=stopped.stop, session=session, turn=stopped.turn))
        second.touch()
        await trial.house.ended(session, 2)
        assert await reasons(trial, session) == ["stopped", "done"]
    assert again.turn == stopped.turn and again.withdrawn == ()


async def test_b03_a_late_bell_for_an_ended_turn_costs_no_model_request(open_trial: Open) -> None:
    async with open_trial(DONE) as trial:
        await trial.worker()
        session = await trial.say("Hello?")
        await trial.house.ended(session)
        run = trial.house.temporal.get_workflow_handle(workflow_id(session))
        await run.result()
        before = await trial.house.events(session)
        prompt = Bell(kind=BellKind.PROMPT, id=trial.ledger.prompts[0].id, session=session)
        for _ in range(2):
            await trial.house.client.ring(prompt)
        await run.result()
        assert await trial.house.events(session) == before
    assert len(trial.house.model.ledger.entries) == 1


async def test_row_51_a_prompt_accepted_while_the_model_answers_is_not_part_of_that_answer(
    open_trial: Open, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    async with open_trial(held(gate), DONE) as trial:
        await trial.worker()
        session = await trial.say("First.")
        await reached(gate)
        nowhere = trial.house.endpoints.model_copy(update={"temporal_address": "127.0.0.1:1"})
        async with SessionClient(trial.house.settings, nowhere, trial.house.client.actor) as lonely:
            accepted = await Door(lonely, trial.ledger).prompt(session, "Second.")
        gate.touch()
        await trial.house.ended(session, 2)
        messages = await trial.house.client.transcript(session)
    assert not accepted.rung
    assert [message.role for message in messages] == ["user", "assistant", "user", "assistant"]
    assert isinstance(messages[2], UserMessage) and messages[2].text == "Second."


async def test_b01_a_prompt_around_a_stop_starts_exactly_one_turn(open_trial: Open) -> None:
    async with open_trial(ScriptedAnswer(text="A word.", delay=0.02), DONE) as trial:
        trial.wasted = 10
        await trial.worker()
        sessions = await asyncio.gather(*(around(trial, number) for number in range(10)))
        for session in sessions:
            events = await trial.house.events(session)
            after = [event.type for event in events[[event.type for event in events].index("stop.accepted") :]]
            assert after.count("prompt.taken") == 1 and after.count("turn.opened") == 1


async def around(trial: Trial, number: int) -> SessionId:
    """Stop a session so many steps of 15 ms after its start, and prompt it again at once."""
    session = await trial.say(f"Task {number}.")
    await asyncio.sleep(0.015 * number)  # spreads the stops over the life of a turn; nothing depends on where they hit
    await trial.door.stop(session)
    accepted = await trial.door.prompt(session, f"Task {number} again.")
    taken = False

    def over(event: object) -> bool:
        nonlocal taken
        taken = taken or getattr(event, "prompt", None) == accepted.prompt
        return taken and isinstance(event, TurnEnded)

    await trial.house.until(session, over)
    return session
