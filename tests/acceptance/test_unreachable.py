"""PostgreSQL away, in all its ways, when an answer or an outcome is there: both are kept, and once (row 55)."""

import asyncio
from pathlib import Path
from typing import Final

import psycopg
import pytest

from tests.acceptance.conftest import Open
from tests.acceptance.listener import listening
from tests.acceptance.scenarios import DONE, runs
from tests.acceptance.trial import Trial
from tests.house import reached
from tests.patience import appears
from worker.scripted.script import DEFAULT, Hold, Script, ScriptedAnswer
from workflows.domain.errors import Unavailable
from workflows.domain.messages import CallState

pytestmark = pytest.mark.acceptance

AWAY: Final = 45.0  # seconds; failovers take longer, and nothing of ours is that long
SILENT: Final = "it has not answered for 15 s"


def held(gate: Path) -> ScriptedAnswer:
    """An answer that the test lets end."""
    return DONE.model_copy(update={"faults": {1: Hold(after=1, path=str(gate))}})


async def test_row_55_an_answer_and_an_outcome_outlive_postgresql_being_away_for_long(
    open_trial: Open, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    scripts = {DEFAULT: Script(answers=(held(gate),)), "runs": Script(answers=(runs("one", hold=True), DONE))}
    async with open_trial(scripts=scripts) as trial:
        between = await trial.crossing()
        await trial.worker(postgres_url=between.url)
        answered, ran = await trial.say("Hello?"), await trial.say("[[script:runs]] Run it.")
        await trial.effects.reached("one")
        await reached(gate)
        between.part()
        gate.touch()
        trial.effects.release("one")
        await asyncio.sleep(AWAY)
        between.join()
        for session in (answered, ran):
            await trial.house.ended(session)
        (call,) = await trial.house.calls(ran)
    assert (call.state, trial.effects.count("one")) == (CallState.DONE, 1)
    assert len(trial.house.model.ledger.entries) == 3  # one of the first session, two of the other


async def test_row_55_an_answer_outlives_a_database_that_takes_no_writes_as_in_a_failover(
    open_trial: Open, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    async with open_trial(held(gate)) as trial:
        worker = await trial.worker()
        session = await trial.say("Hello?")
        await reached(gate)
        demote(trial, True)
        gate.touch()
        await appears(lambda: "waiting for the database: PostgreSQL is read-only" in worker.log.read_text())
        for said in ("PostgreSQL cannot be reached", "PostgreSQL is read-only just now"):
            with pytest.raises(Unavailable, match=said):
                await trial.house.client.prompt(session, "Are you there?")
        demote(trial, False)
        await trial.house.ended(session)
    assert len(trial.house.model.ledger.entries) == 1
    assert "Traceback" not in worker.log.read_text()


def demote(trial: Trial, read_only: bool) -> None:
    """Let the database take no writes, or take them again: over connections that are new, as after a failover."""
    database = trial.house.endpoints.postgres_url
    setting = "-c default_transaction_read_only"
    with psycopg.connect(database, options=f"{setting}=off", autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = {'on' if read_only else 'off'}")
        if read_only:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )


async def test_row_55_an_answer_is_stored_once_although_its_connection_falls_silent_at_the_commit(
    open_trial: Open,
) -> None:
    async with open_trial(DONE) as trial:
        between = await trial.crossing()
        silent = between.hold_request("message.completed")
        worker = await trial.worker(postgres_url=between.url)
        session = await trial.say("Hello?")
        await silent.caught()
        await trial.house.ended(session)
        silent.let_go()  # what was said so long ago arrives after all, and changes nothing
    assert SILENT in worker.log.read_text() and len(trial.house.model.ledger.entries) == 1


async def test_row_55_watchers_and_sweeper_go_on_although_all_their_connections_have_fallen_silent(
    open_trial: Open,
) -> None:
    async with open_trial(DONE, DONE) as trial:
        between = await trial.crossing()
        worker = await trial.worker(postgres_url=between.url)
        session = await trial.say("Hello?")
        async with (
            trial.somebody("far", postgres_url=between.url) as far,
            listening(far.client, session) as watcher,
            trial.cut_off() as door,
        ):
            await watcher.heard(lambda event: event.type == "turn.ended")
            between.silence()
            accepted = await door.prompt(session, "Are you there?")  # only a sweeper can tell the engine
            await watcher.heard(lambda event: event.type == "turn.ended", 2)
    assert not accepted.rung and watcher.in_order and SILENT in worker.log.read_text()
