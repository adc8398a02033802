"""PostgreSQL unreachable in any way with an answer or outcome at hand: both are kept, once (row 55)."""

import asyncio
from pathlib import Path
from typing import Final

import psycopg
import pytest

from tests.acceptance.conftest import Open
from tests.acceptance.scenarios import DONE, held, runs
from tests.acceptance.session_listener import listening
from tests.acceptance.trial import Trial
from tests.harness import wait_for_file
from tests.polling import wait_until
from worker.scripted.script import DEFAULT_SCRIPT, Script
from workflows.domain.errors import Unavailable
from workflows.domain.messages import CallState

pytestmark = pytest.mark.acceptance

AWAY: Final = 45.0  # seconds; failovers take longer, and nothing of ours is that long
SILENT: Final = "it has not answered for 15 s"


async def test_row_55_an_answer_and_an_outcome_outlive_postgresql_being_away_for_long(
    open_trial: Open, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    scripts = {DEFAULT_SCRIPT: Script(answers=(held(gate),)), "runs": Script(answers=(runs("one", hold=True), DONE))}
    async with open_trial(scripts=scripts) as trial:
        between = await trial.database_proxy()
        await trial.worker(postgres_url=between.url)
        answered, ran = await trial.start_session("Hello?"), await trial.start_session("[[script:runs]] Run it.")
        await trial.effects.reached("one")
        await wait_for_file(gate)
        between.part()
        gate.touch()
        trial.effects.release("one")
        await asyncio.sleep(AWAY)
        between.join()
        for session in (answered, ran):
            await trial.harness.ended(session)
        (call,) = await trial.harness.calls(ran)
    assert (call.state, trial.effects.count("one")) == (CallState.DONE, 1)
    assert len(trial.harness.model.ledger.entries) == 3  # one of the first session, two of the other


async def test_row_55_an_answer_outlives_a_database_that_takes_no_writes_as_in_a_failover(
    open_trial: Open, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    async with open_trial(held(gate)) as trial:
        worker = await trial.worker()
        session = await trial.start_session("Hello?")
        await wait_for_file(gate)
        demote(trial, True)
        gate.touch()
        await wait_until(lambda: "waiting for the database: PostgreSQL is read-only" in worker.log.read_text())
        for said in ("PostgreSQL cannot be reached", "PostgreSQL is read-only at the moment"):
            with pytest.raises(Unavailable, match=said):
                await trial.harness.client.prompt(session, "Are you there?")
        demote(trial, False)
        await trial.harness.ended(session)
    assert len(trial.harness.model.ledger.entries) == 1
    assert "Traceback" not in worker.log.read_text()


def demote(trial: Trial, read_only: bool) -> None:
    """Make the database read-only or writable: over new connections, as after a failover."""
    database = trial.harness.endpoints.postgres_url
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
        between = await trial.database_proxy()
        silent = between.hold_request("message.completed")
        worker = await trial.worker(postgres_url=between.url)
        session = await trial.start_session("Hello?")
        await silent.wait_until_caught()
        await trial.harness.ended(session)
        silent.release()  # what was said so long ago arrives after all, and changes nothing
    assert SILENT in worker.log.read_text() and len(trial.harness.model.ledger.entries) == 1


async def test_row_55_watchers_and_sweeper_go_on_although_all_their_connections_have_fallen_silent(
    open_trial: Open,
) -> None:
    async with open_trial(DONE, DONE) as trial:
        between = await trial.database_proxy()
        worker = await trial.worker(postgres_url=between.url)
        session = await trial.start_session("Hello?")
        async with (
            trial.another_person("far", postgres_url=between.url) as far,
            listening(far.client, session) as watcher,
            trial.cut_off() as recording_client,
        ):
            await watcher.wait_for_event(lambda event: event.type == "turn.ended")
            between.silence()
            accepted = await recording_client.prompt(session, "Are you there?")  # only a sweeper can tell the engine
            await watcher.wait_for_event(lambda event: event.type == "turn.ended", 2)
    assert not accepted.delivered and watcher.in_order and SILENT in worker.log.read_text()
