"""Sessions that wait for people: idle, unaffected by restarts, and quick after the answer (rows 50, 53; B13)."""

import asyncio

import pytest

from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import DONE, runs
from worker.scripted.script import DEFAULT_SCRIPT, Script
from workflows.domain.messages import CallState
from workflows.domain.wake_signal import WakeKind

pytestmark = pytest.mark.acceptance

AGED = """
UPDATE {table} SET {column} = {column} - interval '3 days'
"""
TIMES = (("ask", "asked_at"), ("work", "accepted_at"), ("turn", "opened_at"))
OPEN_SESSIONS = 20


async def test_row_50_an_ask_of_three_days_costs_nothing_and_a_late_signal_starts_nothing(open_trial: Open) -> None:
    scripts = {DEFAULT_SCRIPT: Script(answers=(runs("one"), DONE)), "plain": Script(answers=(DONE, DONE))}
    async with open_trial(scripts=scripts) as trial, trial.cut_off() as lonely:
        waiting, ask = await trial.asked()
        async with trial.harness.database.transaction() as connection:
            for table, column in TIMES:
                await connection.execute(AGED.format(table=table, column=column).encode())
        other = await trial.start_session("[[script:plain]] Hello?", lonely)  # only a sweep sends its signal
        await trial.harness.ended(other)
        await trial.quiet(waiting)
        before = await trial.harness.history(waiting)
        await lonely.prompt(other, "And then?")
        await trial.harness.ended(other, 2)
        asked = len(trial.harness.model.ledger.entries)
        assert await trial.harness.history(waiting) == before
        for sent in trial.ledger.prompts[1:]:
            await trial.harness.signal(other, WakeKind.WORK, sent.id)
        await trial.recording_client.answer(ask)
        await trial.harness.ended(waiting)
    assert len(trial.harness.model.ledger.entries) == asked + 1 and trial.effects.count("one") == 1


async def test_row_53_four_of_five_calls_stay_done_over_new_runs_and_a_restart_while_one_waits(
    open_trial: Open,
) -> None:
    tokens = ["one", "two", "three", "four", "five"]
    async with open_trial(runs(*tokens), DONE, history_events=12) as trial:
        session, ask = await trial.asked({"*": "allow", "effect five": "ask"})
        await trial.harness.until(session, lambda event: event.type == "call.finished", 4)
        await trial.recording_client.prompt(session, "And hurry.")
        await trial.workers[0].kill()
        before = await trial.harness.calls(session)
        await trial.worker()
        overview = await trial.harness.client.sessions.get(session)
        assert overview.waiting == 1 and await trial.harness.calls(session) == before
        await trial.recording_client.answer(ask)
        await trial.harness.ended(session)
        calls = await trial.harness.calls(session)
        roles = [message.role for message in await trial.harness.client.records.transcript(session)]
    assert [call.state for call in calls] == [CallState.DONE] * 5 and roles == [
        "user",
        "assistant",
        "user",
        "assistant",
    ]
    assert [trial.effects.count(token) for token in tokens] == [1] * 5


async def test_b13_many_open_sessions_whose_only_worker_dies_come_back_without_a_failed_task(
    open_trial: Open, scale: int
) -> None:
    many = range(OPEN_SESSIONS * scale)
    scripts = {str(number): Script(answers=(runs(f"t{number}"), DONE)) for number in many}
    async with open_trial(scripts=scripts) as trial:
        trial.harness.configure(permission={"bash": "ask"})
        first = await trial.worker()
        sessions = [await trial.start_session(f"[[script:{number}]] Run it.") for number in many]
        asks = [ask for session in sessions for ask in await trial.harness.wait_for_asks(session)]
        await first.kill()
        await trial.worker()
        await asyncio.gather(*(trial.recording_client.answer(ask) for ask in asks))
        for session in sessions:
            await trial.harness.ended(session)
    assert [trial.effects.count(f"t{number}") for number in many] == [1] * len(many)
