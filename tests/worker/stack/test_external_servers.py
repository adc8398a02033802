"""External servers, seen from here."""

from pathlib import Path

import psycopg
import pytest

from activities.store import engines, hosts
from activities.store.database import Database
from activities.store.engines import EngineIdentity
from tests.harness import ACTOR
from tests.polling import wait_until
from worker.client import Holdfast
from worker.machine_id import machine_id
from worker.settings import Settings
from worker.stack import external_servers, processes, state_file
from worker.stack.diagnosis import Level
from worker.stack.doctor import run_checks
from worker.stack.down import down
from worker.stack.layout import Layout
from worker.stack.state_file import Endpoints, PartName, StackPart, StackPhase, StackState
from worker.stack.status import status
from worker.stack.up import up
from workflows.domain.errors import DatabaseForeign, EngineTaken, HostTaken

NOBODY = "127.0.0.1:9"


def all_elsewhere(settings: Settings, postgres_url: str, temporal: str, task_queue: str = "holdfast") -> Settings:
    """A machine that runs neither servers nor workers."""
    named = {"HOLDFAST_POSTGRES_URL": postgres_url, "TEMPORAL_ADDRESS": temporal, "HOLDFAST_TASK_QUEUE": task_queue}
    return Settings.read({**settings.environment, **named, "HOLDFAST_HOME": "/nowhere", "HOLDFAST_WORKER": "false"})


async def test_servers_that_answer_do_not_serve_without_a_worker(
    settings: Settings, stack: Endpoints, postgres_url: str, task_queue: str
) -> None:
    seen = await external_servers.full_status(all_elsewhere(settings, postgres_url, stack.temporal_address, task_queue))

    postgres, temporal = seen.servers
    assert (postgres.trouble, temporal.trouble, temporal.workers, seen.serving) == (None, None, 0, False)
    assert postgres.version and temporal.version


async def test_servers_that_answer_serve_as_soon_as_a_worker_runs_here(
    settings: Settings, stack: Endpoints, postgres_url: str, task_queue: str, tmp_path: Path
) -> None:
    both = all_elsewhere(settings, postgres_url, stack.temporal_address, task_queue)
    here = both.model_copy(update={"home": tmp_path, "worker": True})
    part = StackPart(name=PartName.WORKER, process=processes.current_process(), serving=True)
    said = StackState(supervisor=processes.current_process(), phase=StackPhase.SERVING, endpoints=stack, parts=(part,))
    state_file.write(Layout(home=tmp_path).state, said)

    seen = await external_servers.full_status(here)

    assert seen.serving and [each.workers for each in seen.servers] == [None, 0]


async def test_a_host_that_is_another_machines_is_named_and_nothing_is_begun_there(
    settings: Settings, stack: Endpoints, postgres_url: str, task_queue: str, tmp_path: Path
) -> None:
    both = all_elsewhere(settings, postgres_url, stack.temporal_address, task_queue)
    here = both.model_copy(update={"home": tmp_path, "worker": True, "host": "alpha"})
    async with Database(postgres_url) as database:
        await hosts.report_alive(database, "alpha", machine_id(tmp_path))
        ours = await external_servers.host_statuses(here)
        await database.rows(b"UPDATE host SET machine = 'another'")

    seen, checked = await external_servers.full_status(here), {each.check: each for each in await run_checks(here)}
    with pytest.raises(HostTaken):
        await up(here, print)
    async with Holdfast(here, stack.model_copy(update={"postgres_url": postgres_url})) as holdfast:
        client = holdfast.as_(ACTOR)
        with pytest.raises(HostTaken):
            await client.start("/p", "Hello.")

    assert [[host.taken for host in found] for found in (ours, seen.hosts)] == [[False], [True]] and not seen.serving
    assert checked["worker"].level is Level.FAILURE and "HOLDFAST_HOST" in checked["worker"].remedy
    assert status(here).supervisor is None


async def test_a_database_whose_sessions_another_temporal_runs_gets_no_worker_of_ours(
    settings: Settings, stack: Endpoints, postgres_url: str, task_queue: str, tmp_path: Path
) -> None:
    both = all_elsewhere(settings, postgres_url, stack.temporal_address, task_queue)
    here = Settings.read({**both.environment, "HOLDFAST_HOME": str(tmp_path), "HOLDFAST_WORKER": "true"})
    async with Database(postgres_url) as database:
        await engines.report_alive(database, EngineIdentity(namespace="another", target="theirs"))
        await database.rows(b"UPDATE engine SET seen_at = now() + interval '1 hour'")  # however long the rest takes
    try:
        with pytest.raises(EngineTaken, match="Another Temporal, theirs, runs"):
            await up(here, print)
        checked = {each.check: each for each in await run_checks(here)}
        await wait_until(lambda: status(here).supervisor is None)
    finally:
        await down(here, print)

    assert checked["worker"].level is Level.FAILURE and "theirs" in checked["worker"].message


@pytest.mark.parametrize("ran", [False, True], ids=["what it has started is stopped", "what ran before runs on"])
async def test_a_refused_database_gets_no_worker(
    settings: Settings, postgres_url: str, tmp_path: Path, ran: bool
) -> None:
    here = Settings.read(
        {**settings.environment, "HOLDFAST_HOME": str(tmp_path), "HOLDFAST_POSTGRES_URL": postgres_url}
    )
    async with Database(postgres_url) as database:
        await database.rows(b"UPDATE migration SET digest = 'of another program'")
    try:
        if ran:
            await up(here, print, worker=False)
        before = status(here).supervisor
        with pytest.raises(DatabaseForeign):
            await up(here, print)
        if ran:
            assert before == status(here).supervisor is not None and status(here).serving
        else:
            await wait_until(lambda: status(here).supervisor is None)
    finally:
        await down(here, print)


async def test_servers_that_do_not_answer_say_why_and_show_no_password(settings: Settings) -> None:
    seen = await external_servers.full_status(all_elsewhere(settings, f"postgresql://me:secret@{NOBODY}/work", NOBODY))

    assert not seen.serving and "secret" not in repr(seen)
    assert all("Connection refused" in (server.trouble or "") for server in seen.servers)


async def test_a_database_that_may_lose_something_is_a_risk(settings: Settings, postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute(f"ALTER DATABASE {connection.info.dbname} SET synchronous_commit = off")

    found = await external_servers.postgres_status(postgres_url)

    assert found.trouble is None and "synchronous_commit=off" in (found.risk or "")


@pytest.mark.parametrize("version", ["1.30.4", "1.29.6", "1.32.1", "1.31.0", "0.0.0-DEV", "1.31.0-142.3", "2.0.0"])
def test_a_temporal_without_known_holes_is_no_risk(version: str) -> None:
    assert external_servers.security_risk(version) is None


@pytest.mark.parametrize("version", ["1.30.3", "1.29.5", "1.28.3", "1.27.9"])
def test_a_temporal_with_known_holes_is_a_risk(version: str) -> None:
    assert "1.30.4" in (external_servers.security_risk(version) or "")
