"""`kill -9` of the servers: alone, and everything at once (reliability.md rows 20, 23, 53, 55; bug B16)."""

import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from activities.store.prompts import Mode
from tests.acceptance import story
from tests.acceptance.conftest import Failed, Open
from tests.acceptance.effects import Moment
from tests.acceptance.matrix.blows import server_away
from tests.acceptance.matrix.lane import Lane
from tests.acceptance.parts import everything, kill, power_off
from tests.acceptance.scenarios import DONE, runs
from tests.acceptance.trial import Trial, trial
from tests.acceptance.workers import Nursery, WorkerProcess
from tests.conftest import remove, settings_of
from tests.house import reached
from tests.patience import appears
from worker.connect import connect
from worker.scripted.script import Hold, Script, ScriptedAnswer
from worker.settings import Resume, Settings
from worker.stack import cluster
from worker.stack.down import down
from worker.stack.layout import Layout
from worker.stack.state import PartName
from worker.stack.up import up
from workflows.domain.messages import CallState
from workflows.domain.parking import ParkReason

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(400)]


@pytest.fixture
async def own(settings: Settings, tmp_path: Path, failed: Failed) -> AsyncIterator[Settings]:
    """Settings of a stack of the test's own, whose worker finds the scripted model; its home is kept on failure."""
    elsewhere = {"HOME": tmp_path, "XDG_CONFIG_HOME": tmp_path / "config", "HOLDFAST_CACHE": settings.cache}
    elsewhere["TMPDIR"] = tmp_path / "tmp"
    elsewhere["TMPDIR"].mkdir()
    mine = settings_of(tmp_path / "home", **{name: str(path) for name, path in elsewhere.items()})
    yield mine
    if failed():
        story.show(Layout(home=mine.home).log(PartName.WORKER))
        await down(mine, print)
    else:
        await remove(mine)


@pytest.fixture
def open_stack(own: Settings, tmp_path: Path, nursery: Nursery, trials: list[Trial]) -> Open:
    """Open a trial on that stack."""

    @asynccontextmanager
    async def opened(*answers: ScriptedAnswer, judged: bool = True) -> AsyncIterator[Trial]:
        endpoints = await up(own, print)
        temporal = await connect(own, endpoints)
        async with trial(own, endpoints, temporal, Script(answers=answers), tmp_path, nursery) as built:
            trials.append(built)
            yield built
            if judged:
                await built.passes()

    return opened


async def test_row_53_and_b16_all_stays_as_it_was_when_everything_dies_and_goes_on_when_a_person_says_so(
    open_stack: Open, own: Settings
) -> None:
    tokens = ("one", "two", "three", "four", "five")
    script = (ScriptedAnswer(tools=(*runs(*tokens[:4]).tools, *runs("five", hold=True).tools)), DONE)
    async with open_stack(*script) as trial:
        trial.house.configure(permission={"bash": {"*": "allow", "effect three": "ask"}})
        session = await trial.say("Run them.")
        (ask,) = await trial.house.asked(session)
        await trial.house.until(session, lambda event: event.type == "call.finished", 3)
        await trial.effects.reached("five")
        await trial.door.prompt(session, "And hurry.")
        await kill(*everything(own))
        trial.effects.release("five")
        await up(own.model_copy(update={"resume": Resume.NEVER}), print)
        await trial.reconnect()
        overview = await trial.house.client.session(session)
        assert [entry.id for entry in await trial.house.client.asks()] == [ask] and overview.waiting == 1
        await trial.door.answer(ask)
        await trial.quiet(session)
        assert len(trial.house.model.ledger.entries) == 1 and trial.effects.count("three") == 0
        assert (await trial.house.client.parked())[0].reason is ParkReason.KEPT
        await trial.house.client.resume(session)
        await trial.house.ended(session)
        calls = await trial.house.calls(session)
        roles = [message.role for message in await trial.house.client.transcript(session)]
    assert [call.state for call in calls] == [CallState.DONE] * 5
    assert [trial.effects.count(token) for token in tokens] == [1] * 5
    assert roles == ["user", "assistant", "user", "assistant"]


async def test_row_20_and_row_55_servers_that_are_away_lose_no_outcome_and_no_prompt(
    lane: Lane, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    held = DONE.model_copy(update={"faults": {1: Hold(after=0, path=str(gate))}})
    script = Script(answers=(runs("one", hold=True), held, DONE))
    async with lane.trial(script, tmp_path, {}) as trial:
        trial.wasted = 1
        await trial.worker()
        session = await trial.say("Run it.")
        await trial.effects.reached("one")
        async with server_away(lane.settings, PartName.POSTGRES):
            trial.effects.release("one")
            await trial.effects.reached("one", Moment.END)
        await reached(gate)
        await trial.reconnect()
        async with server_away(lane.settings, PartName.TEMPORAL):
            gate.touch()
            await appears(lambda: bool(trial.house.model.ledger.entries[1:]))
            accepted = await trial.door.prompt(session, "And then?", Mode.QUEUE)
        await trial.house.ended(session, 2)
        (call,) = await trial.house.calls(session)
        await trial.passes()
    assert not accepted.rung
    assert call.state is CallState.DONE and trial.effects.count("one") == 1


async def test_a_session_goes_on_after_the_machine_was_started_anew(open_stack: Open, own: Settings) -> None:
    async with open_stack(runs("one", hold=True), DONE, judged=False) as trial:
        session = await trial.say("Run it.")
        await trial.effects.reached("one")
        await power_off(*everything(own), *trial.commands())
        await reboot(own)
        await up(own, print)
        await trial.reconnect()
        await trial.house.ended(session)
        (call,) = await trial.house.calls(session)
        found = await trial.verdict()
    assert call.state is CallState.UNKNOWN and call.outcome is not None
    assert "start one" in call.outcome.output and trial.effects.count("one") == 1
    assert [each.what.partition(": ")[2].partition(":")[0] for each in found] == [f"call {call.id} is unknown"]


async def reboot(settings: Settings) -> None:
    """What is different when the machine is back: temporary files are gone, and the numbers that dead processes have
    left in files are those of others."""
    temporary = Path(settings.environment["TMPDIR"])
    shutil.rmtree(temporary)
    temporary.mkdir()
    noted = (await cluster.locate(settings)).pid_file
    _, *rest = noted.read_text().splitlines(keepends=True)
    noted.write_text("".join([f"{os.getpid()}\n", *rest]))


async def test_row_23_nothing_begins_while_postgres_cannot_record_it_and_nothing_known_is_lost(
    lane: Lane, tmp_path: Path
) -> None:
    own = lane.settings
    answer, claim, done = (tmp_path / name for name in ("answer", "claim", "done"))
    held = runs("one").model_copy(update={"faults": {1: Hold(after=1, path=str(answer))}})
    async with lane.trial(Script(answers=(held, DONE)), tmp_path, {}) as trial:
        trial.house.configure(permission={"bash": "ask"})
        worker = await trial.worker(faults=f"tool.before_claim=block:{claim}@1;tool.effect_done=block:{done}@1")
        session = await trial.say("Run it.")
        await reached(answer)  # D: the answer streams
        await without_postgres(own, worker, answer, "waiting for the database")
        await trial.reconnect()
        (ask,) = await trial.house.asked(session)
        async with server_away(own, PartName.POSTGRES):  # F: a person is waited for
            pass
        await trial.reconnect()
        await trial.door.answer(ask)
        await reached(claim)  # H: nothing is claimed
        await without_postgres(own, worker, claim, "holdfast.tools.run failed", lambda: trial.effects.count("one") == 0)
        await reached(done)  # J: the outcome is known, and not written
        await without_postgres(own, worker, done, "waiting for the database")
        await trial.reconnect()
        await trial.house.ended(session)
        (call,) = await trial.house.calls(session)
        await trial.passes()
    assert call.state is CallState.DONE and trial.effects.count("one") == 1


async def without_postgres(
    own: Settings, worker: WorkerProcess, gate: Path, said: str, held: Callable[[], bool] = lambda: True
) -> None:
    """Kill PostgreSQL with all its processes, let a worker go on, and wait until it has said that it cannot; what has
    to hold until PostgreSQL is back."""
    async with server_away(own, PartName.POSTGRES):
        known = worker.log.read_text().count(said)
        gate.touch()
        await appears(lambda: worker.log.read_text().count(said) > known)
        assert held()
