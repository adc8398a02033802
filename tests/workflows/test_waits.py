"""Waits on purpose in whole sessions: rows wait, and no signal, timer, run or worker has to last."""

import asyncio
import json

from tests.harness import Harness
from tests.histories.history_scenarios import DONE
from tests.polling import WAIT_TIMEOUT
from tests.worker.cli.conftest import shell
from tests.workflows.conftest import Open
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.budgets import BudgetLimits
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import SessionId
from workflows.domain.messages import CallState
from workflows.domain.prompt import Prompt

PERIOD = 0.5


def waits(*calls: dict[str, str], beside: tuple[ScriptedCall, ...] = ()) -> ScriptedAnswer:
    return ScriptedAnswer(tools=(*(ScriptedCall(name="wait", arguments=dict(each)) for each in calls), *beside))


async def waiting(harness: Harness, session: SessionId, count: int = 1) -> None:
    """Until so many calls wait, and no activity runs."""
    await harness.until(session, lambda event: event.type == "wait.begun", count)
    async with asyncio.timeout(WAIT_TIMEOUT):
        while (await harness.workflow(session).describe()).raw_description.pending_activities:
            await asyncio.sleep(0.05)


async def ended(harness: Harness, session: SessionId) -> str:
    found = await harness.ended(session)
    assert isinstance(found, TurnEnded)
    return found.reason


async def outputs(harness: Harness, session: SessionId) -> list[str]:
    return [call.outcome.output if call.outcome else "" for call in await harness.calls(session)]


async def test_waits_of_one_step_are_shown_outlive_the_worker_and_end_each_by_its_own(open_harness: Open) -> None:
    glob = ScriptedCall(name="glob", arguments={"pattern": "*.txt"})
    several = waits({"token": "deploy", "at_most": "3d"}, {"file": "a.txt", "event": "created"}, beside=(glob,))
    async with open_harness(several, DONE) as harness:
        person = shell(harness)
        async with harness.running_worker():
            session = await harness.start_session("Deploy it.")
            await waiting(harness, session, 2)
        listed, shown = await person.run("sessions"), await person.run("sessions", "show", session)
        overview = json.loads((await person.run("sessions", "show", session, "--json")).out)
        sent, unknown = await person.run("send", session, "And now?"), await person.run("poke", "deplyo")
        poked = await person.run("poke", "deploy", "-m", "v2 is live")
        again = await person.run("poke", "deploy")
        async with harness.running_worker():
            await waiting(harness, session, 2)
            harness.file("a.txt", "a")
            reason = await ended(harness, session)
        told, log = await outputs(harness, session), await person.run("watch", session, "--until-idle")
        verified = await harness.client.records.verify(session)

    assert reason == "done" and verified.problem is None and len(harness.model.ledger.entries) == 2
    assert told[0].startswith("Poked by ") and told[0].endswith(": v2 is live")
    assert told[1].startswith("The file a.txt was created; noticed at ")
    assert "waits for" in listed.out and "(+1)" in listed.out
    assert "It waits for a poke: deploy, until " in shown.out and "holdfast poke deploy" in shown.out
    assert "It waits for the file a.txt." in shown.out and f"holdfast wake {session}" in shown.out
    assert [each["subject"]["name"] for each in overview["waits"]] == ["deploy", "a.txt"]
    assert f"1 prompt waits for its end: holdfast wake {session}" in sent.err
    assert unknown.code == 6 and f"Waited for: deploy ({session})" in unknown.err
    assert poked.out == f"Poked: {session}\n" and again.code == 6 and "was poked by" in again.err
    assert "waits for a poke: deploy" in log.out and ": v2 is live" in log.out


async def test_a_moment_comes_by_the_runs_timer_and_a_lost_run_by_the_rows(open_harness: Open) -> None:
    async with (
        open_harness(waits({"until": "1s"}), waits({"until": "90d"}), DONE) as harness,
        harness.running_worker(with_sweeper=True, reconcile_seconds=PERIOD),
    ):
        session = await harness.start_session("Later.")
        await waiting(harness, session, 2)
        first = len([each for each in await harness.calls(session) if each.state is CallState.DONE])
        await harness.workflow(session).terminate("lost")
        await asyncio.sleep(6 * PERIOD)
        refreshed = await harness.database.rows(b"SELECT FROM refresh")
        await harness.database.rows(b"UPDATE wait SET until = now() WHERE ended_at IS NULL")
        reason = await ended(harness, session)
        told = await outputs(harness, session)

    assert (first, refreshed, reason) == (1, [], "done")
    assert all(each.startswith("The time came: it is ") for each in told)


async def test_a_person_ends_a_wait_or_the_turn_and_the_time_counts(open_harness: Open) -> None:
    async with open_harness(waits({"until": "90d"}), DONE) as harness, harness.running_worker():
        prompt, limits = Prompt.of_text("Later.", model="scripted/model"), {"time": 3600, "on_limit": "finish"}
        started = await harness.client.start(str(harness.project), prompt, limits=BudgetLimits.model_validate(limits))
        session = started.session
        await waiting(harness, session)
        await harness.database.rows(b"UPDATE budget SET started_at = started_at - interval '2 hours'")
        woken = await shell(harness).run("wake", session)
        reason, told = await ended(harness, session), await outputs(harness, session)
        spent = [each.type for each in await harness.events(session)].count("budget.spent")
        other = await harness.start_session("Again.")
        await waiting(harness, other)
        await harness.client.stop(other)
        stopped = await ended(harness, other)
        (call,) = await harness.calls(other)

    assert woken.out == f"Continues now: {session}\n" and "has ended the wait at" in told[0]
    assert (reason, spent, len(harness.model.ledger.entries)) == ("done", 1, 3)
    assert (stopped, call.state) == ("stopped", CallState.CANCELLED)
