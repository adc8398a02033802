"""The ringer: a worker rings for a command, which need not reach the engine; whatever fails, the bell is rung."""

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
from tests.house import ACTOR, House
from tests.patience import PATIENCE
from tests.worker.conftest import cut_off, unheard
from worker.bells import Bells
from worker.chores import beside
from worker.client import SessionClient
from worker.connect import DATA_CONVERTER
from worker.ringer import Ringer
from workflows.domain.ids import SessionId, workflow_id

COMMAND = """
import asyncio, json, sys
from worker.client import SessionClient
from worker.settings import Settings
from worker.stack.state import Endpoints
from workflows.domain.actor import Actor

async def main(endpoints, directory):
    places = Endpoints.model_validate_json(endpoints)
    actor = Actor(subject="tester@here", method="test")
    async with SessionClient(Settings.read(), places, actor, passes_on=True) as client:
        accepted = await client.start(directory, "Hello.")
        print(json.dumps([accepted.session, accepted.rung, "temporalio" in sys.modules]))

asyncio.run(main(*sys.argv[1:]))
"""


@asynccontextmanager
async def listening(house: House, temporal: Client | None = None) -> AsyncIterator[None]:
    """A ringer that is heard of while the block runs."""
    known = await ringers(house.database)
    async with beside(Ringer(house.database, Bells(house.database, temporal or house.temporal, house.settings)).run()):
        await another(house.database, known)
        yield


async def ringers(database: Database, do: str = "") -> set[int]:
    """The connections of those that listen; something may be done with each."""
    found = "datname = current_database() AND starts_with(query, 'LISTEN holdfast_ringer_')"
    rows = await database.rows(f"SELECT pid{do} FROM pg_stat_activity WHERE {found}".encode())
    return {row["pid"] for row in rows}


async def another(database: Database, known: set[int]) -> None:
    """Wait for a ringer that was not known."""
    async with asyncio.timeout(PATIENCE):
        while await ringers(database) <= known:
            await asyncio.sleep(0.02)


@pytest.fixture
async def brief(house: House) -> AsyncIterator[SessionClient]:
    """The client of a command."""
    async with SessionClient(house.settings, house.endpoints, ACTOR, passes_on=True) as client:
        yield client


async def begun(house: House, session: SessionId) -> bool:
    """Whether the session has a run."""
    try:
        await house.temporal.get_workflow_handle(workflow_id(session)).describe()
    except RPCError:
        return False
    return True


async def test_a_command_has_a_worker_ring_and_loads_nothing_that_reaches_the_engine(house: House) -> None:
    async with listening(house):
        run = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-P", "-c", COMMAND, house.endpoints.model_dump_json(), str(house.project)],
            env=dict(house.settings.environment),
            capture_output=True,
            text=True,
            check=False,
        )
    assert run.returncode == 0, run.stderr
    session, rung, loaded = json.loads(run.stdout)
    assert rung and not loaded and await begun(house, session)


async def test_a_door_that_cannot_reach_the_engine_is_rung_for_by_one_of_the_workers(house: House) -> None:
    async with listening(house), listening(house), cut_off(house, passes_on=True) as door:
        accepted = await door.start(str(house.project), "Hello.")
        other = await door.prompt(accepted.session, "And then?")
    history = await house.history(accepted.session)
    signals = [event for event in history.events if event.HasField("workflow_execution_signaled_event_attributes")]
    assert accepted.rung and other.rung and len(signals) == 2


async def test_where_no_worker_listens_a_command_rings_itself(house: House, brief: SessionClient) -> None:
    accepted = await brief.start(str(house.project), "Hello.")
    assert accepted.rung and await begun(house, accepted.session)


async def test_a_worker_that_does_not_ring_in_time_holds_no_command_up(house: House, brief: SessionClient) -> None:
    wrong = await Client.connect(house.endpoints.temporal_address, namespace="nowhere", data_converter=DATA_CONVERTER)
    async with listening(house, wrong):
        accepted = await brief.start(str(house.project), "Hello.")
    assert accepted.rung and await begun(house, accepted.session)


async def test_a_ringer_listens_again_when_its_connection_was_cut(house: House) -> None:
    async with listening(house), cut_off(house, passes_on=True) as door:
        await another(house.database, await ringers(house.database, ", pg_terminate_backend(pid)"))
        assert (await door.start(str(house.project), "Hello.")).rung


async def test_a_bell_that_cannot_be_read_or_names_no_session_keeps_no_other_from_ringing(house: House) -> None:
    accepted = await unheard(house)
    async with listening(house), cut_off(house, passes_on=True) as door:
        for payload in ("no bell", '{"kind":"prompt","id":"msg_x","session":"ses_x"}'):
            await ringers(house.database, f", pg_notify(application_name, '{payload}')")
        assert (await door.prompt(accepted.session, "And then?")).rung
