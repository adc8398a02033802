"""Suspended sessions: nothing is asked, begun or opened before a person resumes them, in every state (bug B16)."""

from pathlib import Path

import pytest

from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import DONE, delegates, held, runs
from tests.acceptance.trial import Trial
from tests.harness import wait_for_file
from worker.scripted.script import DEFAULT_SCRIPT, Script
from worker.settings import ResumePolicy
from worker.startup_suspension import suspend_all
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import SessionId
from workflows.domain.messages import UserMessage
from workflows.domain.suspension import SuspendReason

pytestmark = pytest.mark.acceptance


async def rebooted(trial: Trial, *sessions: SessionId) -> None:
    """A new boot of a stack whose policy is to ask: sessions at work are suspended, then the worker starts."""
    ask = trial.harness.settings.model_copy(update={"resume": ResumePolicy.ASK})
    await suspend_all(ask, trial.harness.endpoints.postgres_url, print)
    await trial.worker()
    for session in sessions:
        await trial.quiet(session)


async def test_b16_a_model_is_not_asked_again_before_a_person_says_so(open_trial: Open, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    async with open_trial(held(gate)) as trial:
        trial.wasted = 1
        first = await trial.worker()
        session = await trial.start_session("Hello?")
        await wait_for_file(gate)
        await first.kill()
        gate.touch()
        await rebooted(trial, session)
        assert len(trial.harness.model.ledger.entries) == 1
        await trial.harness.client.resume(session)
        ended = await trial.harness.ended(session)
    assert isinstance(ended, TurnEnded) and ended.reason == "done" and len(trial.harness.model.ledger.entries) == 2


async def test_b16_an_answered_ask_runs_nothing_before_a_person_lets_the_session_go_on(open_trial: Open) -> None:
    async with open_trial(runs("one"), DONE) as trial:
        session, ask = await trial.asked()
        await trial.workers[0].kill()
        await trial.recording_client.answer(ask)
        await rebooted(trial, session)
        assert trial.effects.count("one") == 0
        await trial.harness.client.resume(session)
        await trial.harness.ended(session)
    assert trial.effects.count("one") == 1


async def test_b16_a_stop_ends_a_suspended_turn(open_trial: Open) -> None:
    async with open_trial(runs("one"), DONE, DONE) as trial:
        first = await trial.worker(faults="tool.before_claim=kill9@1")
        session = await trial.start_session("Run it.")
        await first.killed()
        await rebooted(trial, session)
        await trial.recording_client.stop(session)
        ended = await trial.harness.ended(session)
        await trial.recording_client.prompt(session, "Something else.")
        await trial.harness.ended(session, 2)
    assert isinstance(ended, TurnEnded) and ended.reason == "stopped" and trial.effects.count("one") == 0


async def test_b16_a_subagent_is_suspended_and_resumed_with_its_parent(open_trial: Open, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    scripts = {DEFAULT_SCRIPT: Script(answers=(delegates("child"), DONE)), "child": Script(answers=(held(gate),))}
    async with open_trial(scripts=scripts) as trial:
        trial.wasted = 1
        first = await trial.worker()
        session = await trial.start_session("Have it run.")
        await wait_for_file(gate)
        await first.kill()
        gate.touch()
        await rebooted(trial, *[each.id for each in await trial.harness.client.sessions.list_recent()])
        assert [each.session for each in await trial.harness.client.inbox.suspended()] == [session]
        assert len(trial.harness.model.ledger.entries) == 2
        await trial.harness.client.resume(session)
        await trial.harness.ended(session)
    assert len(trial.harness.model.ledger.entries) == 4


async def test_a_session_whose_branch_was_switched_while_it_slept_asks_before_it_goes_on(open_trial: Open) -> None:
    async with open_trial(DONE, DONE) as trial:
        trial.harness.file(".git/HEAD", "ref: refs/heads/main\n")
        session = await trial.played("First.")
        trial.harness.file(".git/HEAD", "ref: refs/heads/other\n")
        await trial.recording_client.prompt(session, "Second.")
        await trial.harness.until(session, lambda event: event.type == "session.suspended")
        (parked,) = await trial.harness.client.inbox.suspended()
        asked = len(trial.harness.model.ledger.entries)
        await trial.harness.client.resume(session)
        await trial.harness.ended(session, 2)
        messages = await trial.harness.client.records.transcript(session)
    assert (parked.reason, parked.was, parked.now, asked) == (SuspendReason.BRANCH, "main", "other", 1)
    assert [message.text for message in messages if isinstance(message, UserMessage)] == ["First.", "Second."]
