"""Delivery: the row first, then the bell; whichever bell is late, doubled, lost or forged (reliability.md 11)."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from activities.store.bells import Bell, BellKind
from activities.store.journal import journal
from tests.activities.scene import somebody_waits
from tests.histories.scenarios import DONE, LOOK, PARALLEL, WRITE
from tests.house import ACTOR, House, reached
from tests.workflows.amplify import forgetful, whole
from tests.workflows.conftest import Open
from tests.workflows.runs import chain
from worker.client import SessionClient
from worker.connect import connect
from worker.scripted.script import Hold, Script, ScriptedAnswer
from workflows.domain.events import BellWithoutAnswer, PromptAccepted, StopAccepted, TurnEnded
from workflows.domain.ids import AskId, MessageId, SessionId, StopId, TurnId, workflow_id
from workflows.domain.messages import CallState
from workflows.domain.wire import AnswerRef, PromptRef, StopRef

AROUND = tuple(step * 0.005 for step in range(6))  # seconds between a stop and the prompt beside it
RIVALS = 20


@pytest.fixture(params=[False, True], ids=["unswept", "swept"])
def swept(request: pytest.FixtureRequest) -> bool:
    """Without a sweeper, which heals what the first signal has lost, and with one."""
    return bool(request.param)


async def slept(house: House, session: SessionId) -> None:
    """Wait until the session's run has completed."""
    async with asyncio.timeout(60):
        await house.temporal.get_workflow_handle(workflow_id(session)).result()


async def turns(house: House, session: SessionId) -> list[TurnEnded]:
    return [event for event in await house.events(session) if isinstance(event, TurnEnded)]


async def test_b02_twenty_wake_ups_at_once_make_one_turn(open_house: Open) -> None:
    async with open_house(ScriptedAnswer(text="Hello.")) as house, house.working():
        accepted = await house.client.start(str(house.project), "Hello?", model="scripted/model")
        bell = Bell(kind=BellKind.PROMPT, id=accepted.prompt, session=accepted.session)
        async with SessionClient(house.settings, house.endpoints, ACTOR) as another:
            doors = (house.client, another)
            rung = await asyncio.gather(*(doors[number % 2].ring(bell) for number in range(RIVALS)))
        house.hurry(idle_seconds=0.2)
        await house.ended(accepted.session)
        await slept(house, accepted.session)
        ends = await turns(house, accepted.session)
    assert all(rung) and len(ends) == 1 and len(house.model.ledger.entries) == 1


async def test_b19_a_session_between_two_workers_has_one_driver(open_house: Open) -> None:
    async with open_house(PARALLEL, WRITE, DONE) as house:
        another = replace(house, temporal=await connect(house.settings, house.endpoints))
        house.configure(permission={"edit": "ask"})
        async with house.working(), another.working():
            session = await house.say("Go.")
            (ask,) = await house.asked(session)
            await house.answer(ask)
            await house.ended(session)
        log = [event.type for event in await house.events(session)]
    assert (log.count("turn.ended"), log.count("call.claimed"), log.count("write.refused")) == (1, 4, 0)
    assert len(house.model.ledger.entries) == 3


@pytest.mark.parametrize("asleep", [False, True])
async def test_b03_a_late_or_doubled_bell_does_nothing(open_house: Open, asleep: bool) -> None:
    async with open_house(ScriptedAnswer(text="Hello.")) as house, house.working():
        house.hurry(idle_seconds=0.5)
        accepted = await house.client.start(str(house.project), "Hello?", model="scripted/model")
        await house.ended(accepted.session)
        if asleep:
            await slept(house, accepted.session)
        before = await house.events(accepted.session)
        for _ in range(2):
            await house.client.ring(Bell(kind=BellKind.PROMPT, id=accepted.prompt, session=accepted.session))
        await slept(house, accepted.session)
        assert await house.events(accepted.session) == before
    assert len(house.model.ledger.entries) == 1


async def test_b04_a_prompt_at_the_moment_a_run_falls_asleep_is_answered(open_house: Open, scale: int) -> None:
    rounds = 8 * scale
    answers = [ScriptedAnswer(text=f"Answer {number}.") for number in range(rounds + 1)]
    async with open_house(*answers) as house, house.working():
        house.hurry(idle_seconds=0.2)
        session = await house.say("Hello?")
        for number in range(rounds):
            await house.ended(session, number + 1)
            await asyncio.sleep(0.17 + number % 8 * 0.008)  # around the 0.2 s after which the run completes
            await house.client.prompt(session, f"And {number}?")
        await house.ended(session, rounds + 1)
        ends = await turns(house, session)
    assert [end.reason for end in ends] == ["done"] * (rounds + 1)
    assert len(house.model.ledger.entries) == rounds + 1


async def test_b04_a_prompt_just_after_the_run_has_closed_is_answered(open_house: Open) -> None:
    answers = [ScriptedAnswer(text=f"Answer {number}.") for number in range(4)]
    async with open_house(*answers) as house, house.working():
        house.hurry(idle_seconds=0.2)
        session = await house.say("Hello?")
        for number in range(3):
            await house.ended(session, number + 1)
            await slept(house, session)
            await house.client.prompt(session, f"And {number}?")
        await house.ended(session, 4)
    assert len(house.model.ledger.entries) == 4


async def test_b01_a_prompt_around_a_stop_is_withdrawn_or_starts_one_turn(open_house: Open, tmp_path: Path) -> None:
    scripts = {
        str(number): Script(answers=(ScriptedAnswer(text="x", faults={1: Hold(path=str(tmp_path / str(number)))}),))
        for number in range(2 * len(AROUND))
    }
    async with open_house(scripts=scripts) as house, house.working():
        rounds = [
            stop_and_prompt(house, str(2 * number + late), tmp_path, offset, bool(late))
            for number, offset in enumerate(AROUND)
            for late in (0, 1)
        ]
        sessions = await asyncio.gather(*rounds)
        for session in sessions:
            await one_turn_or_none_after_the_stop(house, session)


async def stop_and_prompt(house: House, script: str, gates: Path, offset: float, prompt_late: bool) -> SessionId:
    """Stop a turn that generates, with a prompt just before or after it."""
    session = await house.say(f"[[script:{script}]] A long task.")
    await reached(gates / script)

    async def after(seconds: float, what: str) -> None:
        await asyncio.sleep(seconds)
        if what == "stop":
            await house.client.stop(session)
        else:
            await house.client.prompt(session, f"[[script:{script}]] Another.")

    order = ("stop", "prompt") if prompt_late else ("prompt", "stop")
    await asyncio.gather(after(0, order[0]), after(offset, order[1]))
    return session


async def one_turn_or_none_after_the_stop(house: House, session: SessionId) -> None:
    """A prompt accepted after the stop starts exactly one turn; one accepted before it is withdrawn."""
    log = await house.events(session)
    stop = next(place for place, event in enumerate(log) if isinstance(event, StopAccepted))
    prompt = max(place for place, event in enumerate(log) if isinstance(event, PromptAccepted))
    expected = ["stopped", "done"] if prompt > stop else ["stopped"]
    await house.ended(session, len(expected))
    log = await house.events(session)
    assert [event.reason for event in log if isinstance(event, TurnEnded)] == expected
    assert [event.type for event in log].count("prompt.withdrawn") == 2 - len(expected)


async def test_a_retried_stop_leaves_the_next_turn_alone(open_house: Open, tmp_path: Path) -> None:
    gates = [tmp_path / "first", tmp_path / "second"]
    held = {number: Hold(path=str(gate)) for number, gate in enumerate(gates, start=1)}
    async with open_house(ScriptedAnswer(text="Done.", faults=held)) as house, house.working():
        session = await house.say("A task.")
        await reached(gates[0])
        stopped = await house.client.stop(session, stop=StopId("stp_1"))
        await house.client.prompt(session, "Another task.")
        await reached(gates[1])
        await house.client.stop(session, stop=StopId("stp_1"))
        handle = house.temporal.get_workflow_handle(workflow_id(session))
        await handle.signal("stop", StopRef(stop=StopId("stp_1"), turn=stopped.turn))
        gates[1].touch()
        await house.ended(session, 2)
        ends = await turns(house, session)
    assert [end.reason for end in ends] == ["stopped", "done"]


async def test_bells_of_unknown_ids_are_kept_and_disturb_nobody(open_house: Open) -> None:
    async with open_house(WRITE, DONE) as house, house.working():
        house.configure(permission={"edit": "ask"})
        session = await house.say("Write a.txt.")
        (ask,) = await house.asked(session)
        handle = house.temporal.get_workflow_handle(workflow_id(session))
        await handle.signal("answer", AnswerRef(ask=AskId("per_unknown")))
        await handle.signal("stop", StopRef(stop=StopId("stp_unknown"), turn=TurnId("trn_unknown")))
        await handle.signal("prompt", PromptRef(prompt=MessageId("msg_unknown")))
        await house.answer(ask)
        ended = await house.ended(session)
        (call,) = await house.calls(session)
    assert isinstance(ended, TurnEnded) and ended.reason == "done" and call.state is CallState.DONE


async def test_b24_a_bell_without_an_answer_leads_back_to_waiting(open_house: Open) -> None:
    async with open_house(WRITE, DONE) as house, house.working():
        house.configure(permission={"edit": "ask"})
        session = await house.say("Write a.txt.")
        (ask,) = await house.asked(session)
        handle = house.temporal.get_workflow_handle(workflow_id(session))
        for times in (1, 2):
            await handle.signal("answer", AnswerRef(ask=ask))
            await house.until(session, lambda event: isinstance(event, BellWithoutAnswer), times)
        assert not (house.project / "a.txt").exists()
        await house.answer(ask)
        await house.ended(session)
    assert (house.project / "a.txt").read_text() == "a"


async def test_b24_an_answer_that_comes_while_a_forged_one_is_checked_is_applied_once(open_house: Open) -> None:
    async with open_house(WRITE, DONE) as house, house.working():
        house.configure(permission={"edit": "ask"})
        session = await house.say("Write a.txt.")
        (ask,) = await house.asked(session)
        handle = house.temporal.get_workflow_handle(workflow_id(session))
        await asyncio.gather(*(handle.signal("answer", AnswerRef(ask=ask)) for _ in range(5)), house.answer(ask))
        await house.ended(session)
        log = [event.type for event in await house.events(session)]
    assert (log.count("call.claimed"), log.count("ask.answered"), log.count("ask.raised")) == (1, 1, 1)


async def test_an_answer_that_races_with_a_stop_is_said_not_to_have_run_or_has_run(open_house: Open) -> None:
    async with open_house(WRITE, DONE) as house, house.working():
        house.configure(permission={"edit": "ask"})
        session = await house.say("Write a.txt.")
        (ask,) = await house.asked(session)
        await asyncio.gather(house.answer(ask), house.client.stop(session), return_exceptions=True)
        await house.ended(session)
        log = [event.type for event in await house.events(session)]
        (call,) = await house.calls(session)
        assert await house.client.asks(session=session) == []
    ran = call.state is CallState.DONE
    assert ran == (house.project / "a.txt").exists()
    assert ran or (call.state is CallState.CANCELLED and ("answer.not_run" in log) == ("ask.answered" in log))


async def test_row_58_a_stop_that_comes_while_a_new_chain_looks_at_the_rows_is_applied(open_house: Open) -> None:
    async with open_house(WRITE, DONE) as house, house.working():
        house.configure(permission={"edit": "ask"})
        session = await house.say("Write a.txt.")
        (ask,) = await house.asked(session)
        await house.temporal.get_workflow_handle(workflow_id(session)).terminate()
        turn = (await house.client.session(session)).turn
        async with journal(house.database, session, ACTOR) as opened:
            await opened.locked()
            await house.client.ring(Bell(kind=BellKind.ANSWER, id=ask, session=session))
            await somebody_waits(house.database)
            await house.client.ring(Bell(kind=BellKind.STOP, id="stp_1", session=session, turn=turn))
            opened.record(StopAccepted(stop=StopId("stp_1"), turn=turn))
        ended = await house.ended(session)
    assert isinstance(ended, TurnEnded) and (ended.turn, ended.reason) == (turn, "stopped")


@pytest.mark.parametrize(("cached", "events"), [(True, 2000), (False, 2000), (True, 12), (False, 12)])
async def test_b12_a_whole_session_is_the_same_without_a_cache_and_over_many_runs(
    open_house: Open, tmp_path: Path, cached: bool, events: int
) -> None:
    gate = tmp_path / "gate"
    held = LOOK.model_copy(update={"faults": {1: Hold(path=str(gate))}})
    async with open_house(PARALLEL, held, WRITE, DONE, held) as house:
        house.hurry(history_events=events)
        async with house.working() if cached else forgetful(house):
            session = await whole(house, gate)
        log = [event.type for event in await house.events(session)]
        runs = await chain(house, session)
        states = [call.state for call in await house.calls(session)]
    assert states == [CallState.DONE] * 5
    assert [log.count(kind) for kind in ("turn.ended", "prompt.taken", "ask.raised", "call.claimed")] == [2, 3, 1, 5]
    assert len(house.model.ledger.entries) == 5 and (len(runs) > 1) == (events == 12)
