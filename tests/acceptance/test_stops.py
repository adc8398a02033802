"""Stops and prompts around the edges of turns (reliability.md rows 31, 34, 50 to 52; bugs B1, B3 and B6)."""

import asyncio
import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.acceptance import workflow_histories
from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import DONE, runs
from tests.acceptance.trial import Trial
from tests.harness import wait_for_file
from tests.polling import slowness, wait_until
from tests.worker.cli.conftest import shell
from worker.scripted.script import Hold, ScriptedAnswer, ScriptedCall
from workflows.domain.errors import Conflict
from workflows.domain.events.event import EventRecord
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import SessionId, workflow_id
from workflows.domain.messages import UserMessage
from workflows.domain.wake_signal import WakeKind

pytestmark = pytest.mark.acceptance

AT_ONCE = timedelta(seconds=2)  # from an accepted stop to its end, on a machine that has nothing else to do
LEAVES_MORE_BEHIND = ScriptedAnswer(
    tools=(ScriptedCall(name="bash", arguments={"command": "sleep 600 & (sleep 601 &) ; effect one hold"}),)
)

LEAVES_A_SERVER = ScriptedAnswer(
    tools=(ScriptedCall(name="bash", arguments={"command": "nohup setsid sleep 602 >/dev/null 2>&1 & echo started"}),)
)
SHOW_JSON = ("sessions", "show", "--json")


def held(*gates: Path) -> ScriptedAnswer:
    """An answer that waits: the first time at the first gate, and so on."""
    faults = {number: Hold(after=1, path=str(gate)) for number, gate in enumerate(gates, 1)}
    return ScriptedAnswer(text="An answer of some length.", faults=dict(faults))


async def reasons(trial: Trial, session: SessionId) -> list[str]:
    return [event.reason for event in await trial.harness.events(session) if isinstance(event, TurnEnded)]


@pytest.mark.parametrize("moment", ["D", "F", "I"])
async def test_row_34_a_stop_ends_everything_at_once_and_the_next_prompt_gets_its_turn(
    open_trial: Open, tmp_path: Path, moment: str
) -> None:
    gate = tmp_path / "gate"
    first = {"D": held(gate), "F": runs("one"), "I": LEAVES_MORE_BEHIND}[moment]
    async with open_trial(first, DONE) as trial:
        trial.harness.configure(permission={"bash": "ask" if moment == "F" else "allow"})
        trial.wasted = 1 if moment == "D" else 0
        await trial.worker()
        session = await trial.start_session("A long task.")
        await (trial.harness.wait_for_asks(session) if moment == "F" else wait_until(lambda: begun(trial, gate)))
        await trial.bystander()
        await trial.recording_client.stop(session)
        await trial.recording_client.stop(session)
        await trial.harness.ended(session)
        left = trial.commands()
        await trial.recording_client.prompt(session, "Something else.")
        await trial.harness.ended(session, 2)
        assert await reasons(trial, session) == ["stopped", "done"]
        log = [seen.record async for seen in trial.harness.client.records.log(session)]
    (stopped, *_), (ended, done), (_, again) = map(times, [log] * 3, ("stop.accepted", "turn.ended", "prompt.taken"))
    assert left == [] and ended - stopped <= AT_ONCE * slowness() + 5 * (done - again)  # a turn is slow where all is


async def test_what_a_call_has_left_running_is_listed_and_ends_with_the_session_though_a_worker_dies(
    open_trial: Open,
) -> None:
    async with open_trial(LEAVES_A_SERVER, DONE) as trial:
        person = shell(trial.harness)
        session = await trial.played("Start the server.")
        listed, listed_json = await person.run("status"), await person.run("status", "--json")
        shown, shown_json = await person.run("sessions", "show", session), await person.run(*SHOW_JSON, session)
        (server,) = (each for each in trial.commands() if each.name() == "sleep")
        await trial.workers[0].kill()
        await trial.recording_client.end(session)
        alive_yet = server.is_running()
        await trial.worker()
        await wait_until(lambda: trial.commands() == [])
        after = await person.run(*SHOW_JSON, session)
    row = f"Left running by {session}: process {server.pid}, sleep 602"
    (left,) = json.loads(listed_json.out)["left_running"]
    assert alive_yet and row in listed.out and f"  {row}" in shown.out.splitlines()
    assert (left["session"], left["pid"], left["command"]) == (session, server.pid, "sleep 602")
    assert json.loads(shown_json.out)["left_running"] == [left] and json.loads(after.out)["left_running"] == []


def times(log: list[EventRecord], name: str) -> list[datetime]:
    """When such events happened."""
    return [datetime.fromisoformat(record.at) for record in log if record.event.type == name]


def begun(trial: Trial, gate: Path) -> bool:
    """Whether the first answer or its command has begun."""
    return gate.with_name("gate.reached").exists() or trial.effects.count("one") == 1


async def test_row_34_a_stop_twenty_milliseconds_after_the_prompt_leaves_a_usable_session(open_trial: Open) -> None:
    async with open_trial(runs("one"), DONE) as trial:
        trial.wasted = 2
        await trial.worker()
        session = await trial.start_session("Run it.")
        await asyncio.sleep(0.02)  # the fault is this very moment
        await trial.recording_client.stop(session)
        accepted = await trial.recording_client.prompt(session, "Something else.")
        await trial.harness.until(session, lambda event: getattr(event, "prompt", "") == accepted.prompt, 2)
        await trial.listed(session, lambda overview: not overview.working)
        assert (await reasons(trial, session))[-1] == "done"


async def test_row_31_and_b06_an_answer_after_the_stop_is_refused_with_the_reason_also_in_a_later_run(
    open_trial: Open,
) -> None:
    async with open_trial(runs("zero"), runs("one"), DONE, history_events=12) as trial:
        session, ask = await trial.asked({"*": "ask", "effect zero": "allow"})
        await trial.recording_client.stop(session)
        await trial.harness.ended(session)
        assert await trial.harness.client.inbox.asks() == []
        with pytest.raises(Conflict, match=r"closed before your answer: the turn ended \(stopped\)"):
            await trial.recording_client.answer(ask)
        runs_so_far = await workflow_histories.runs(trial.harness.temporal, workflow_id(session))
    assert len(runs_so_far) > 1 and trial.effects.count("one") == 0


async def test_row_52_a_retried_stop_leaves_the_next_turn_alone(open_trial: Open, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    async with open_trial(held(first, second)) as trial:
        trial.wasted = 1
        await trial.worker()
        session = await trial.start_session("A long task.")
        await wait_for_file(first)
        stopped = await trial.recording_client.stop(session)
        await trial.recording_client.prompt(session, "Something else.")
        await wait_for_file(second)
        again = await trial.harness.client.stop(session, stop=stopped.stop)
        await trial.harness.signal(session, WakeKind.STOP, stopped.stop, stopped.turn)
        second.touch()
        await trial.harness.ended(session, 2)
        assert await reasons(trial, session) == ["stopped", "done"]
    assert again.turn == stopped.turn and again.withdrawn == ()


async def test_b03_a_late_signal_for_an_ended_turn_costs_no_model_request(open_trial: Open) -> None:
    async with open_trial(DONE) as trial:
        session = await trial.played("Hello?")
        run = trial.harness.workflow(session)
        await run.result()
        before = await trial.harness.events(session)
        for _ in range(2):
            await trial.harness.signal(session, WakeKind.WORK, trial.ledger.prompts[0].id)
        await run.result()
        assert await trial.harness.events(session) == before
    assert len(trial.harness.model.ledger.entries) == 1


async def test_row_51_a_prompt_accepted_while_the_model_answers_is_not_part_of_that_answer(
    open_trial: Open, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    async with open_trial(held(gate), DONE) as trial:
        await trial.worker()
        session = await trial.start_session("First.")
        await wait_for_file(gate)
        async with trial.cut_off() as recording_client:
            accepted = await recording_client.prompt(session, "Second.")
        gate.touch()
        await trial.harness.ended(session, 2)
        messages = await trial.harness.client.records.transcript(session)
    assert not accepted.delivered
    assert [message.role for message in messages] == ["user", "assistant", "user", "assistant"]
    assert isinstance(messages[2], UserMessage) and messages[2].text == "Second."


async def test_b01_a_prompt_around_a_stop_starts_exactly_one_turn(open_trial: Open) -> None:
    async with open_trial(ScriptedAnswer(text="A word.", delay=0.02), DONE) as trial:
        trial.wasted = 10
        await trial.worker()
        sessions = await asyncio.gather(*(around(trial, number) for number in range(10)))
        for session in sessions:
            events = await trial.harness.events(session)
            after = [event.type for event in events[[event.type for event in events].index("stop.accepted") :]]
            assert after.count("prompt.taken") == 1 and after.count("turn.opened") == 1


async def around(trial: Trial, number: int) -> SessionId:
    """Stop a session `number` steps of 15 ms after its start, and prompt it again immediately."""
    session = await trial.start_session(f"Task {number}.")
    await asyncio.sleep(0.015 * number)  # spreads the stops over the life of a turn; nothing depends on where they hit
    await trial.recording_client.stop(session)
    accepted = await trial.recording_client.prompt(session, f"Task {number} again.")
    taken = False

    def over(event: object) -> bool:
        nonlocal taken
        taken = taken or getattr(event, "prompt", None) == accepted.prompt
        return taken and isinstance(event, TurnEnded)

    await trial.harness.until(session, over)
    return session
