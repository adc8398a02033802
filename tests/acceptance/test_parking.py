"""Parked sessions: nothing is asked, begun or opened before a person says so, wherever the session stood (bug B16)."""

from pathlib import Path

import pytest

from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import DONE, HANDS_OVER, runs
from tests.acceptance.trial import Trial
from tests.house import reached
from worker.parking import park_all
from worker.scripted.script import DEFAULT, Hold, Script
from worker.settings import Resume
from workflows.domain.events import TurnEnded
from workflows.domain.ids import SessionId
from workflows.domain.messages import UserMessage
from workflows.domain.parking import ParkReason

pytestmark = pytest.mark.acceptance


async def rebooted(trial: Trial, *sessions: SessionId) -> None:
    """A new boot of a stack whose sessions ask: what was at work is parked, then the worker starts."""
    ask = trial.house.settings.model_copy(update={"resume": Resume.ASK})
    await park_all(ask, trial.house.endpoints.postgres_url, print)
    await trial.worker()
    for session in sessions:
        await trial.quiet(session)


async def test_b16_a_model_is_not_asked_again_before_a_person_says_so(open_trial: Open, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    held = DONE.model_copy(update={"faults": {1: Hold(after=1, path=str(gate))}})
    async with open_trial(held) as trial:
        trial.wasted = 1
        first = await trial.worker()
        session = await trial.say("Hello?")
        await reached(gate)
        await first.kill()
        gate.touch()
        await rebooted(trial, session)
        assert len(trial.house.model.ledger.entries) == 1
        await trial.house.client.resume(session)
        ended = await trial.house.ended(session)
    assert isinstance(ended, TurnEnded) and ended.reason == "done" and len(trial.house.model.ledger.entries) == 2


async def test_b16_an_answered_ask_runs_nothing_before_a_person_lets_the_session_go_on(open_trial: Open) -> None:
    async with open_trial(runs("one"), DONE) as trial:
        trial.house.configure(permission={"bash": "ask"})
        first = await trial.worker()
        session = await trial.say("Run it.")
        (ask,) = await trial.house.asked(session)
        await first.kill()
        await trial.door.answer(ask)
        await rebooted(trial, session)
        assert trial.effects.count("one") == 0
        await trial.house.client.resume(session)
        await trial.house.ended(session)
    assert trial.effects.count("one") == 1


async def test_b16_a_stop_ends_what_is_parked(open_trial: Open) -> None:
    async with open_trial(runs("one"), DONE, DONE) as trial:
        first = await trial.worker(faults="tool.before_claim=kill9@1")
        session = await trial.say("Run it.")
        await first.killed()
        await rebooted(trial, session)
        await trial.door.stop(session)
        ended = await trial.house.ended(session)
        await trial.door.prompt(session, "Something else.")
        await trial.house.ended(session, 2)
    assert isinstance(ended, TurnEnded) and ended.reason == "stopped" and trial.effects.count("one") == 0


async def test_b16_a_subagent_is_parked_and_resumed_with_its_parent(open_trial: Open, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    held = DONE.model_copy(update={"faults": {1: Hold(after=1, path=str(gate))}})
    scripts = {DEFAULT: Script(answers=(HANDS_OVER, DONE)), "child": Script(answers=(held,))}
    async with open_trial(scripts=scripts) as trial:
        trial.wasted = 1
        first = await trial.worker()
        session = await trial.say("Have it run.")
        await reached(gate)
        await first.kill()
        gate.touch()
        await rebooted(trial, *[each.id for each in await trial.house.client.sessions()])
        assert [each.session for each in await trial.house.client.parked()] == [session]
        assert len(trial.house.model.ledger.entries) == 2
        await trial.house.client.resume(session)
        await trial.house.ended(session)
    assert len(trial.house.model.ledger.entries) == 4


async def test_a_session_whose_branch_was_switched_while_it_slept_asks_before_it_goes_on(open_trial: Open) -> None:
    async with open_trial(DONE, DONE) as trial:
        trial.house.file(".git/HEAD", "ref: refs/heads/main\n")
        await trial.worker()
        session = await trial.say("First.")
        await trial.house.ended(session)
        trial.house.file(".git/HEAD", "ref: refs/heads/other\n")
        await trial.door.prompt(session, "Second.")
        await trial.house.until(session, lambda event: event.type == "session.parked")
        (parked,) = await trial.house.client.parked()
        asked = len(trial.house.model.ledger.entries)
        await trial.house.client.resume(session)
        await trial.house.ended(session, 2)
        messages = await trial.house.client.transcript(session)
    assert (parked.reason, parked.was, parked.now, asked) == (ParkReason.BRANCH, "main", "other", 1)
    assert [message.text for message in messages if isinstance(message, UserMessage)] == ["First.", "Second."]
