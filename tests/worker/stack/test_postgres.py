"""The embedded PostgreSQL: private, and not misled by a dead one's traces."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import psycopg
import pytest

from tests.polling import WAIT_TIMEOUT
from tests.worker.stack.conftest import pid
from worker.settings import Settings
from worker.stack import cluster, processes
from worker.stack.cluster import Cluster
from worker.stack.down import down
from worker.stack.state_file import Endpoints, PartName
from worker.stack.status import status
from worker.stack.up import up


@pytest.fixture
async def crashed(running: Settings) -> Cluster:
    """A cluster killed with its supervisor: its pid file and socket are left."""
    supervisor, server = processes.ref(status(running).supervisor or 0), processes.ref(pid(running, PartName.POSTGRES))
    server.kill(signal.SIGSTOP)  # so that it cannot tidy up at its supervisor's death
    for victim in (supervisor, server):
        victim.kill(signal.SIGKILL)
        assert await processes.wait_until_gone(victim, WAIT_TIMEOUT)
    found = await cluster.locate(running)
    assert found.pid_file.exists()
    return found


async def test_a_pid_file_whose_number_belongs_to_a_stranger_now_is_stale(running: Settings, crashed: Cluster) -> None:
    stranger = await asyncio.create_subprocess_exec("sleep", "600", **crashed.identity)
    _note(crashed, stranger.pid)

    await up(running, print, worker=False)

    assert stranger.returncode is None
    _connects(crashed)
    stranger.kill()
    await stranger.wait()


async def test_a_pid_file_whose_process_is_a_zombie_is_stale(running: Settings, crashed: Cluster) -> None:
    with _zombie(crashed) as zombie:
        _note(crashed, zombie)

        await up(running, print, worker=False)

        _connects(crashed)


async def test_a_server_without_supervisor_is_ended_before_a_new_one_starts(running: Settings) -> None:
    found = await cluster.locate(running)
    await down(running, print)
    left = await _server_by_hand(found)

    await up(running, print, worker=False)

    assert left.returncode is not None or await asyncio.wait_for(left.wait(), WAIT_TIMEOUT) == 0
    _connects(found)


async def test_only_its_owner_reaches_the_server_and_only_by_the_socket(settings: Settings, stack: Endpoints) -> None:
    found = await cluster.locate(settings)
    server = psutil.Process(pid(settings, PartName.POSTGRES))

    assert found.sockets.stat().st_mode & 0o777 == 0o700
    assert found.data.stat().st_mode & 0o777 == 0o700
    assert [connection for connection in server.net_connections() if connection.family.name.startswith("AF_INET")] == []
    assert server.uids().real == found.account.uid != 0


async def test_the_application_is_no_superuser(settings: Settings, stack: Endpoints) -> None:
    found = await cluster.locate(settings)

    with psycopg.connect(found.url()) as connection:
        row = connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()

    assert row == (False,)


async def test_commits_are_as_durable_as_postgres_can_make_them(settings: Settings, stack: Endpoints) -> None:
    found = await cluster.locate(settings)

    with psycopg.connect(found.url()) as connection:
        durability = [connection.execute(f"SHOW {name}").fetchone() for name in ("fsync", "synchronous_commit")]

    assert durability == [("on",), ("on",)]


async def test_secrets_of_the_shell_do_not_reach_the_server(settings: Settings, stack: Endpoints) -> None:
    server = psutil.Process(pid(settings, PartName.POSTGRES))

    assert set(server.environ()) <= {"PATH", "LD_LIBRARY_PATH", "TMPDIR", "LC_ALL", "TZ", "PG_GRANDPARENT_PID"}


@contextmanager
def _zombie(found: Cluster) -> Iterator[int]:
    """A zombie of the server's user, which the server would take for another server."""
    process = subprocess.Popen(["true"], **found.identity)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    yield process.pid
    process.wait()


def _note(found: Cluster, number: int) -> None:
    lines = found.pid_file.read_text().splitlines()
    found.pid_file.write_text("\n".join([str(number), *lines[1:]]) + "\n")
    lock = found.sockets / ".s.PGSQL.5432.lock"
    lock.write_text("\n".join([str(number), *lock.read_text().splitlines()[1:]]) + "\n")


def _connects(found: Cluster) -> None:
    with psycopg.connect(found.url()) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


async def _server_by_hand(found: Cluster) -> asyncio.subprocess.Process:
    argv = (
        found.binaries.program("postgres"),
        "-D",
        str(found.data),
        "-k",
        str(found.sockets),
        "-c",
        "listen_addresses=",
    )
    process = await asyncio.create_subprocess_exec(
        *argv, cwd=found.root, stderr=asyncio.subprocess.PIPE, **found.identity
    )
    assert process.stderr is not None
    while b"ready to accept connections" not in await process.stderr.readline():
        pass
    return process
