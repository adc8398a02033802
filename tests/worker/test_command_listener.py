"""A worker sends signals for a command, which need not reach the engine; a failure loses no signal."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from temporalio.client import Client
from temporalio.service import RPCError

from activities.store.database import Database
from tests.harness import ACTOR, Harness
from tests.polling import WAIT_TIMEOUT
from tests.worker.conftest import client_without_engine, undelivered_prompt
from worker.background_tasks import run_in_background
from worker.client import Holdfast
from worker.connect import DATA_CONVERTER
from worker.outbox import CommandListener, SignalSender
from worker.session_client import SessionClient
from workflows.domain.ids import SessionId

COMMAND = """
import asyncio, json, sys
from worker.client import Holdfast
from worker.settings import Settings
from worker.stack.state_file import Endpoints
from workflows.domain.actor import Actor

async def main(endpoints, directory):
    places = Endpoints.model_validate_json(endpoints)
    actor = Actor(subject="tester@here", method="test")
    async with Holdfast(Settings.read(), places, passes_on=True) as holdfast:
        client = holdfast.as_(actor)
        accepted = await client.start(directory, "Hello.")
        print(json.dumps([accepted.session, accepted.delivered, "temporalio" in sys.modules]))

asyncio.run(main(*sys.argv[1:]))
"""


@asynccontextmanager
async def listening(harness: Harness, temporal: Client | None = None) -> AsyncIterator[None]:
    """A listening signal relay while the block runs."""
    known = await listeners(harness.database)
    sender = SignalSender(harness.database, temporal or harness.temporal, harness.settings)
    async with run_in_background(CommandListener(harness.database, sender).run()):
        await another(harness.database, known)
        yield


async def listeners(database: Database, do: str = "") -> set[int]:
    """The listening connections; `do` something with each."""
    found = "datname = current_database() AND starts_with(query, 'LISTEN holdfast_sender_')"
    rows = await database.rows(f"SELECT pid{do} FROM pg_stat_activity WHERE {found}".encode())
    return {row["pid"] for row in rows}


async def another(database: Database, known: set[int]) -> None:
    """Wait for a new listening connection."""
    async with asyncio.timeout(WAIT_TIMEOUT):
        while await listeners(database) <= known:
            await asyncio.sleep(0.02)


@pytest.fixture
async def brief(harness: Harness) -> AsyncIterator[SessionClient]:
    """A command's client."""
    async with Holdfast(harness.settings, harness.endpoints, passes_on=True) as holdfast:
        client = holdfast.as_(ACTOR)
        yield client


async def begun(harness: Harness, session: SessionId) -> bool:
    """Whether the session has a run."""
    try:
        await harness.workflow(session).describe()
    except RPCError:
        return False
    return True


async def test_a_command_has_a_worker_signal_and_loads_nothing_that_reaches_the_engine(harness: Harness) -> None:
    async with listening(harness):
        run = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-P", "-c", COMMAND, harness.endpoints.model_dump_json(), str(harness.project)],
            env=dict(harness.settings.environment),
            capture_output=True,
            text=True,
            check=False,
        )
    assert run.returncode == 0, run.stderr
    session, delivered, loaded = json.loads(run.stdout)
    assert delivered and not loaded and await begun(harness, session)


async def test_a_door_that_cannot_reach_the_engine_has_one_of_the_workers_signal(harness: Harness) -> None:
    async with listening(harness), listening(harness), client_without_engine(harness, passes_on=True) as door:
        accepted = await door.start(str(harness.project), "Hello.")
        other = await door.prompt(accepted.session, "And then?")
    history = await harness.history(accepted.session)
    signals = [event for event in history.events if event.HasField("workflow_execution_signaled_event_attributes")]
    assert accepted.delivered and other.delivered and len(signals) == 2


async def test_where_no_worker_listens_a_command_signals_itself(harness: Harness, brief: SessionClient) -> None:
    accepted = await brief.start(str(harness.project), "Hello.")
    assert accepted.delivered and await begun(harness, accepted.session)


async def test_a_worker_that_does_not_signal_in_time_holds_no_command_up(
    harness: Harness, brief: SessionClient
) -> None:
    wrong = await Client.connect(harness.endpoints.temporal_address, namespace="nowhere", data_converter=DATA_CONVERTER)
    async with listening(harness, wrong):
        accepted = await brief.start(str(harness.project), "Hello.")
    assert accepted.delivered and await begun(harness, accepted.session)


async def test_a_listener_listens_again_when_its_connection_was_cut(harness: Harness) -> None:
    async with listening(harness), client_without_engine(harness, passes_on=True) as door:
        await another(harness.database, await listeners(harness.database, ", pg_terminate_backend(pid)"))
        assert (await door.start(str(harness.project), "Hello.")).delivered


async def test_a_notice_that_names_no_session_keeps_no_other_from_being_sent(harness: Harness) -> None:
    accepted = await undelivered_prompt(harness)
    async with listening(harness), client_without_engine(harness, passes_on=True) as door:
        for payload in ("", "ses_x"):
            await listeners(harness.database, f", pg_notify(application_name, '{payload}')")
        assert (await door.prompt(accepted.session, "And then?")).delivered
