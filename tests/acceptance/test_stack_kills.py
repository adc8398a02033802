"""`kill -9` of the servers: alone, and everything at once (reliability.md rows 20, 23, 53, 55; bug B16)."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.acceptance.effect_ledger import EffectMoment
from tests.acceptance.scenarios import DONE, held, runs
from tests.acceptance.stack_parts import everything, kill, power_off, servers_down
from tests.acceptance.stacks import OwnStack
from tests.acceptance.workers import WorkerProcess
from tests.harness import wait_for_file
from tests.polling import wait_until
from worker.scripted.script import Script, ScriptedAnswer
from worker.settings import ResumePolicy, Settings
from worker.stack import cluster
from worker.stack.state_file import PartName
from worker.stack.up import up
from workflows.domain.messages import CallState
from workflows.domain.prompt import PromptMode
from workflows.domain.suspension import SuspendReason

pytestmark = pytest.mark.acceptance


async def test_row_53_and_b16_all_stays_as_it_was_when_everything_dies_and_goes_on_when_a_person_says_so(
    whole_stack: OwnStack, tmp_path: Path
) -> None:
    own = whole_stack.settings
    tokens = ("one", "two", "three", "four", "five")
    five = ScriptedAnswer(tools=(*runs(*tokens[:3]).tools, *runs("four", hold=True).tools, *runs("five").tools))
    async with whole_stack.trial(Script(answers=(five, DONE)), tmp_path) as trial:
        trial.harness.configure(permission={"bash": {"*": "allow", "effect five": "ask"}})
        session = await trial.start_session("Run them.")
        (ask,) = await trial.harness.wait_for_asks(session)
        await trial.harness.until(session, lambda event: event.type == "call.finished", 3)
        await trial.effects.reached("four")
        await trial.recording_client.prompt(session, "And hurry.")
        await kill(*everything(own))
        trial.effects.release("four")
        await up(own.model_copy(update={"resume": ResumePolicy.NEVER}), print)
        await trial.reconnect()
        overview = await trial.harness.client.sessions.get(session)
        assert [entry.id for entry in await trial.harness.client.inbox.asks()] == [ask] and overview.waiting == 1
        await trial.recording_client.answer(ask)
        await trial.quiet(session)
        assert len(trial.harness.model.ledger.entries) == 1 and trial.effects.count("five") == 0
        assert (await trial.harness.client.inbox.suspended())[0].reason is SuspendReason.KEPT
        await trial.harness.client.resume(session)
        await trial.harness.ended(session)
        calls = await trial.harness.calls(session)
        roles = [message.role for message in await trial.harness.client.records.transcript(session)]
        await trial.assert_no_violations()
    assert [call.state for call in calls] == [CallState.DONE] * 5
    assert [trial.effects.count(token) for token in tokens] == [1] * 5
    assert roles == ["user", "assistant", "user", "assistant"]


async def test_row_20_and_row_55_servers_that_are_away_lose_no_outcome_and_no_prompt(
    own_stack: OwnStack, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    script = Script(answers=(runs("one", hold=True), held(gate, after=0), DONE))
    async with own_stack.trial(script, tmp_path) as trial:
        trial.wasted = 1
        await trial.worker()
        session = await trial.start_session("Run it.")
        await trial.effects.reached("one")
        async with servers_down(own_stack.settings, PartName.POSTGRES):
            trial.effects.release("one")
            await trial.effects.reached("one", EffectMoment.END)
        await wait_for_file(gate)
        await trial.reconnect()
        async with servers_down(own_stack.settings, PartName.TEMPORAL):
            gate.touch()
            await wait_until(lambda: bool(trial.harness.model.ledger.entries[1:]))
            accepted = await trial.recording_client.prompt(session, "And then?", PromptMode.QUEUE)
        await trial.harness.ended(session, 2)
        (call,) = await trial.harness.calls(session)
        await trial.assert_no_violations()
    assert not accepted.delivered
    assert call.state is CallState.DONE and trial.effects.count("one") == 1


async def test_a_session_goes_on_after_the_machine_was_started_anew(whole_stack: OwnStack, tmp_path: Path) -> None:
    own = whole_stack.settings
    async with whole_stack.trial(Script(answers=(runs("one", hold=True), DONE)), tmp_path) as trial:
        session = await trial.start_session("Run it.")
        await trial.effects.reached("one")
        await power_off(*everything(own), *trial.commands())
        await reboot(own)
        await up(own, print)
        await trial.reconnect()
        call = await trial.ended_call(session)
        found = await trial.verdict()
    assert call.state is CallState.UNKNOWN and call.outcome is not None
    assert "start one" in call.outcome.output and trial.effects.count("one") == 1
    assert [each.what.partition(": ")[2].partition(":")[0] for each in found] == [f"call {call.id} is unknown"]


async def reboot(settings: Settings) -> None:
    """What a reboot changes: temporary files are gone, and dead processes' numbers in files belong to others."""
    temporary = Path(settings.environment["TMPDIR"])
    shutil.rmtree(temporary)
    temporary.mkdir()
    noted = (await cluster.locate(settings)).pid_file
    _, *rest = noted.read_text().splitlines(keepends=True)
    noted.write_text("".join([f"{os.getpid()}\n", *rest]))


async def test_row_23_nothing_begins_while_postgres_cannot_record_it_and_nothing_known_is_lost(
    own_stack: OwnStack, tmp_path: Path
) -> None:
    own = own_stack.settings
    answer, claim, done = (tmp_path / name for name in ("answer", "claim", "done"))
    async with own_stack.trial(Script(answers=(held(answer, runs("one")), DONE)), tmp_path) as trial:
        trial.harness.configure(permission={"bash": "ask"})
        worker = await trial.worker(faults=f"tool.before_claim=block:{claim}@1;tool.effect_done=block:{done}@1")
        session = await trial.start_session("Run it.")
        await wait_for_file(answer)  # D: the answer streams
        await without_postgres(own, worker, answer, "waiting for the database")
        await trial.reconnect()
        (ask,) = await trial.harness.wait_for_asks(session)
        async with servers_down(own, PartName.POSTGRES):  # F: a person is waited for
            pass
        await trial.reconnect()
        await trial.recording_client.answer(ask)
        await wait_for_file(claim)  # H: nothing is claimed
        await without_postgres(own, worker, claim, "holdfast.tools.run failed", lambda: trial.effects.count("one") == 0)
        await wait_for_file(done)  # J: the outcome is known, and not written
        await without_postgres(own, worker, done, "waiting for the database")
        await trial.reconnect()
        call = await trial.ended_call(session)
        await trial.assert_no_violations()
    assert call.state is CallState.DONE and trial.effects.count("one") == 1


async def without_postgres(
    own: Settings, worker: WorkerProcess, gate: Path, said: str, holds: Callable[[], bool] = lambda: True
) -> None:
    """Kill PostgreSQL with all its processes, let a worker go on, and wait for its complaint; until PostgreSQL is back,
    `holds` must be true."""
    async with servers_down(own, PartName.POSTGRES):
        known = worker.log.read_text().count(said)
        gate.touch()
        await wait_until(lambda: worker.log.read_text().count(said) > known)
        assert holds()
