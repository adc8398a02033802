"""Deploys: what a session meets when the code of its worker changes (reliability.md row 45, bug B25)."""

from datetime import timedelta
from pathlib import Path

import pytest

from activities.store import prompts
from activities.store.journal import session_journal
from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import DONE, Mutate, runs
from tests.acceptance.trial import Trial
from tests.harness import ACTOR, failed_tasks
from tests.polling import slowness
from worker.scripted.script import Script
from workflows.domain.behaviour import NEWEST
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import WORKFLOW_TYPE, MessageId, SessionId, workflow_id
from workflows.domain.prompt import Prompt
from workflows.domain.state import SessionState

pytestmark = pytest.mark.acceptance

SHOWN_WITHIN = 30.0  # seconds until a session whose workflow task keeps failing is shown as stuck (bug B25)


async def test_row_45_and_b25_a_session_stuck_on_a_bug_holds_up_no_other_and_goes_on_with_mended_code(
    open_unjudged: Open, mutate: Mutate
) -> None:
    scripts = {"plain": Script(answers=(DONE,)), "calls": Script(answers=(runs("one"), DONE))}
    async with open_unjudged(scripts=scripts) as trial:
        line = "self.turn.add_answer(step)"
        trial.code = mutate("workflows/turn.py", line, f"{line}; assert not step.calls, 'a bug'")
        faulty = await trial.worker()
        stuck = await trial.start_session("[[script:calls]] Run it.")
        await trial.listed(stuck, lambda overview: overview.stuck is not None, patience=SHOWN_WITHIN * slowness())
        await trial.harness.ended(await trial.start_session("[[script:plain]] Hello?"))
        await faulty.kill()
        trial.code = None
        await trial.worker()
        await trial.harness.ended(stuck)
        await trial.listed(stuck, lambda overview: overview.stuck is None)
        found = await trial.verdict()
    failures = [each.what for each in found if each.invariant == "I7"]
    assert failures and all("a bug" in what for what in failures)
    assert {each.invariant for each in found} <= {"I7", "I9"}  # the engine pauses before it tries a failed task again
    assert trial.effects.count("one") == 1


async def begun_by_newer(trial: Trial) -> SessionId:
    """A session whose next run a sender of a newer release starts."""
    session = await trial.start_session("[[script:plain]] Hello?")
    await trial.harness.ended(session)
    handle = trial.harness.workflow(session)
    await handle.terminate()
    async with session_journal(trial.harness.database, session, ACTOR) as journal:
        await prompts.accept(journal, MessageId("msg_of_newer"), Prompt.of_text("[[script:calls]] Run it."))
    await trial.harness.temporal.start_workflow(
        WORKFLOW_TYPE,
        SessionState(session=session, behaviour=NEWEST + 1),
        id=workflow_id(session),
        task_queue=trial.harness.settings.task_queue,
        task_timeout=timedelta(seconds=5),
    )
    return session


def newer_release(mutate: Mutate) -> Path:
    return mutate("workflows/domain/behaviour.py", f"NEWEST: Final = {NEWEST}", f"NEWEST: Final = {NEWEST + 1}")


SCRIPTS = {"plain": Script(answers=(DONE,)), "calls": Script(answers=(runs("one"), DONE))}


async def test_a_run_of_a_newer_release_waits_visibly_for_a_worker_of_that(open_unjudged: Open, mutate: Mutate) -> None:
    async with open_unjudged(scripts=SCRIPTS) as trial:
        older = await trial.worker()
        session = await begun_by_newer(trial)
        await trial.listed(session, lambda overview: overview.stuck is not None, patience=SHOWN_WITHIN * slowness())
        failures = failed_tasks(await trial.harness.history(session))
        await older.kill()
        trial.code = newer_release(mutate)
        await trial.worker()
        ended = await trial.harness.ended(session, 2)
        assert isinstance(ended, TurnEnded) and ended.reason == "done"
        await trial.listed(session, lambda overview: overview.stuck is None)
    refusal = f"this run has behaviour {NEWEST + 1}"
    assert failures and all(refusal in what for what in failures)
    assert trial.effects.count("one") == 1


async def test_two_releases_on_one_queue_end_the_sessions_of_both(open_unjudged: Open, mutate: Mutate) -> None:
    async with open_unjudged(scripts=SCRIPTS) as trial:
        trial.harness.configure(permission={"bash": "ask"})
        await trial.worker()
        older = await trial.start_session("[[script:calls]] Run it.")
        await trial.harness.wait_for_asks(older)
        trial.code = newer_release(mutate)
        await trial.worker()
        newer = await begun_by_newer(trial)
        for session, turns in ((older, 1), (newer, 2)):
            (ask,) = await trial.harness.wait_for_asks(session)
            await trial.harness.answer(ask)
            ended = await trial.harness.ended(session, turns)
            assert isinstance(ended, TurnEnded) and ended.reason == "done"
    assert trial.effects.count("one") == 2
