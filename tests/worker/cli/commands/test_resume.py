"""`holdfast resume`, and how other commands show a suspended session."""

import asyncio
import json
import shutil

from temporalio import workflow
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from activities.store import suspensions
from activities.store.journal import WORKER, session_journal
from tests.harness import Harness
from tests.polling import WAIT_TIMEOUT
from tests.worker.cli.conftest import OpenHarness, shell
from worker.outbox import SignalSender
from worker.reconcile import Reconciler
from worker.scripted.script import ScriptedAnswer
from worker.settings import ResumePolicy
from worker.startup_suspension import suspend_all
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import WORKFLOW_TYPE, SessionId
from workflows.domain.state import SessionState
from workflows.domain.suspension import SuspendCause, SuspendReason
from workflows.domain.wake_signal import WAKE, Wake

HELLO = ScriptedAnswer(text="Hello.")


async def suspended(harness: Harness, policy: ResumePolicy = ResumePolicy.ASK) -> SessionId:
    """A session whose prompt waits, suspended at a new boot of its stack."""
    session = await harness.start_session("hello")
    settings = harness.settings.model_copy(update={"resume": policy})
    await suspend_all(settings, harness.endpoints.postgres_url, print)
    return session


async def test_a_suspended_session_asks_in_every_command_and_can_be_resumed(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO, HELLO) as harness:
        session = await suspended(harness)
        person = shell(harness)
        listed, asked, shown, sent = [
            await person.run(*words)
            for words in (("sessions",), ("asks",), ("sessions", "show", session), ("send", session, "--queue", "more"))
        ]
        async with harness.running_worker():
            resumed = await person.run("resume", session, "--json")
            await harness.ended(session, 2)
            again = await person.run("resume", session)
            watched = await person.run("watch", session, "--until-idle")

    assert f"{session}  suspended  " in listed.out and json.loads(resumed.out)["session"] == session
    for text in (asked.out, shown.out, sent.err, watched.out):
        assert "when the stack stopped" in text and f"holdfast resume {session}" in text
    assert "Resumed by " in watched.out and (resumed.code, watched.code) == (0, 0)
    assert again.code == 6 and "is not suspended" in again.err


async def test_a_session_behind_what_it_has_done_says_so_and_what_resuming_it_risks(open_harness: OpenHarness) -> None:
    async with open_harness() as harness:
        session = await harness.start_session("hello")
        async with session_journal(harness.database, session, WORKER) as journal:
            await suspensions.suspend(journal, SuspendCause(reason=SuspendReason.BEHIND, was="12", now="2"))
        person = shell(harness)
        asked, resumed = await person.run("asks"), await person.run("resume", session)

    assert "its log ends at event 2, and lacks event 12, which its run has seen" in " ".join(asked.out.split())
    assert "is done again if it goes on" in asked.out and "is done again if it goes on" in resumed.err
    assert resumed.out == f"Resumed: {session}\n"


async def test_sessions_kept_suspended_do_not_ask(open_harness: OpenHarness) -> None:
    async with open_harness() as harness:
        session = await suspended(harness, ResumePolicy.NEVER)
        asked, shown = [await shell(harness).run(*words) for words in (("asks",), ("sessions", "show", session))]

    assert asked.out == "" and "HOLDFAST_RESUME=never" in shown.out


async def test_a_run_that_does_not_wait_ends_with_4_where_its_directory_is_gone(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO, HELLO) as harness, harness.running_worker():
        session = await harness.start_session("hello")
        await harness.ended(session)
        person = shell(harness)
        elsewhere = type(person)(person.environment, harness.project.parent)
        shutil.rmtree(harness.project)
        ended = await elsewhere.run("run", "-m", "scripted/model", "-s", session, "--no-wait", "and now?")
        stopped = await elsewhere.run("stop", session)

    assert ended.code == 4 and f"Its directory {harness.project} is not there: it was moved or deleted" in ended.out
    assert stopped.code == 0 and "1 prompt withdrawn" in stopped.out


@workflow.defn(name=WORKFLOW_TYPE)
class IdleWorkflow:
    """A session's workflow that ends and has done nothing."""

    @workflow.run
    async def run(self, state: SessionState) -> None:
        """Does nothing."""

    @workflow.signal(name=WAKE)
    def wake(self, wake: Wake) -> None:
        """Does nothing."""


async def restart_until_suspended(harness: Harness, session: SessionId) -> None:
    """Reconcile, by a period of no time, a session whose runs do nothing."""
    sender = SignalSender(harness.database, harness.temporal, harness.settings)
    reconciler = Reconciler(harness.database, harness.temporal, sender, period=0)
    idle = Worker(
        harness.temporal,
        task_queue=harness.settings.task_queue,
        workflows=[IdleWorkflow],
        workflow_runner=UnsandboxedWorkflowRunner(),
    )
    async with idle, asyncio.timeout(WAIT_TIMEOUT):
        while (await harness.client.sessions.get(session)).suspension is None:
            await reconciler.reconcile()
            await asyncio.sleep(0.05)


async def test_a_session_that_was_restarted_in_vain_says_so_and_goes_on_when_it_is_resumed(
    open_harness: OpenHarness,
) -> None:
    async with open_harness(HELLO) as harness:
        session = await harness.start_session("hello")
        await restart_until_suspended(harness, session)
        person = shell(harness)
        shown, asked = [await person.run(*words) for words in (("sessions", "show", session), ("asks",))]
        async with harness.running_worker():
            resumed = await person.run("resume", session)
            ended = await harness.ended(session)
            watched = await person.run("watch", session, "--until-idle")
        types = [event.type for event in await harness.events(session)]

    for text in (shown.out, asked.out, watched.out):
        assert "restarted 5 times" in text
        assert f"holdfast resume {session}" in text
    assert "it was restarted (5)" in watched.out
    assert resumed.code == 0 and isinstance(ended, TurnEnded) and ended.reason == "done"
    assert types[: types.index("session.suspended")].count("session.restarted") == 5
    assert len(harness.model.ledger.entries) == 1
