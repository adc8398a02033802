"""Whole sessions through PgBouncer in transaction mode; what needs a connection of its own passes it by."""

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import psycopg
import pytest

from activities.store import pg_server
from tests.port_pairs import adjacent_free_ports
from tests.worker.cli.conftest import shell
from tests.workflows.conftest import Open
from tests.workflows.delegation import DONE, FOUND, LOOK, delegates, delegation_scripts
from tests.workflows.test_budgets import start
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from worker.stack.cluster import Cluster
from worker.stack.ports import LOOPBACK, is_free
from workflows.domain.errors import UsageError
from workflows.domain.events.turns import TurnEnded

PROGRAM: Final = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/bin")
PAGE: Final = Path(__file__).parents[2] / "docs" / "deploy.md"
SETTING: Final = "ALTER ROLE holdfast IN DATABASE holdfast SET "
SESSIONS: Final = 8
POOLED: Final = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pooled'"
)
CONNECTIONS: Final = 2  # of the pooler to the server

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="PgBouncer is not installed (Debian's package: pgbouncer)")


@pytest.fixture
def pooler_url(template: Cluster, postgres_url: str, tmp_path: Path) -> Iterator[str]:
    """A pooler before the test's database, as docs/deploy.md sets both up."""
    port, _ = adjacent_free_ports()
    role, database = urlsplit(postgres_url).username, urlsplit(postgres_url).path[1:]
    settings = [line.removeprefix(SETTING) for line in PAGE.read_text().splitlines() if line.startswith(SETTING)]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for setting in settings:
            connection.execute(f"ALTER DATABASE {database} SET {setting}".encode())
    config, log = tmp_path / "pgbouncer.ini", tmp_path / "pgbouncer.log"
    config.write_text(f"""
[databases]
{database} = host={template.sockets} user={role}
[pgbouncer]
listen_addr = {LOOPBACK}
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {CONNECTIONS}
""")
    config.chmod(0o644)  # as root, the server's user reads it
    assert PROGRAM is not None and settings
    with config.open() as given, log.open("w") as written:
        command = [PROGRAM, f"/dev/fd/{given.fileno()}"]
        pooler = subprocess.Popen(
            command, stdout=written, stderr=written, pass_fds=[given.fileno()], **template.identity
        )
    try:
        while is_free(port):
            assert pooler.poll() is None, log.read_text()
        yield f"postgresql://{role}@{LOOPBACK}:{port}/{database}?application_name=pooled"
    finally:
        pooler.kill()
        pooler.wait()


async def test_sessions_share_the_poolers_few_connections(
    open_harness: Open, postgres_url: str, pooler_url: str
) -> None:
    await pg_server.require_pooled_settings(pooler_url)
    asks = ScriptedAnswer(tools=(ScriptedCall(name="bash", arguments={"command": "echo ran"}),))
    async with open_harness(asks, DONE) as harness, harness.running_worker():
        harness.configure(permission={"bash": "ask"})
        sessions = await asyncio.gather(*(harness.start_session(f"Run {n}.") for n in range(SESSIONS)))
        found = await asyncio.gather(*map(harness.wait_for_asks, sessions))
        with psycopg.connect(postgres_url) as direct:
            pooled = direct.execute(POOLED).fetchone()
        await asyncio.gather(*(harness.answer(ask) for asked in found for ask in asked))
        ended = await asyncio.gather(*map(harness.ended, sessions))
        verified = [await harness.client.records.verify(session) for session in sessions]
        person = shell(harness).with_(HOLDFAST_POSTGRES_POOLER_URL=pooler_url)
        watched = await person.run("watch", sessions[0], "--until-idle")
    assert {event.reason for event in ended if isinstance(event, TurnEnded)} == {"done"}
    assert [each.problem for each in verified] == [None] * SESSIONS and "All is done." in watched.out
    assert pooled is not None and 0 < pooled[0] <= CONNECTIONS


async def test_subagents_share_a_budget_through_it(open_harness: Open) -> None:
    scripts = delegation_scripts(delegates("one", "two"), DONE, one=(LOOK, FOUND), two=(LOOK, FOUND))
    async with open_harness(scripts=scripts) as harness, harness.running_worker():
        harness.file("a.txt", "here\n")
        session = await start(harness, tokens=60_000)
        ended = await harness.ended(session)
        (budget,) = await harness.client.sessions.budgets(session)
    assert isinstance(ended, TurnEnded) and ended.reason == "done" and budget.used.steps == 6


async def test_a_worker_refuses_a_pooler_without_our_settings(pooler_url: str, postgres_url: str) -> None:
    database = urlsplit(postgres_url).path[1:]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {database} RESET lock_timeout".encode())
        with pytest.raises(UsageError, match=r"lack settings: SET lock_timeout = '10s'\."):
            await pg_server.require_pooled_settings(pooler_url)
