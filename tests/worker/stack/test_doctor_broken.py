"""The doctor names each broken part of a stack, and what to do."""

import asyncio
import importlib.util
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.conftest import settings_of
from tests.polling import wait_until
from tests.worker.stack.conftest import pid
from worker.settings import Settings
from worker.stack import cluster, state_file
from worker.stack.diagnosis import CheckResult, Level
from worker.stack.doctor import run_checks
from worker.stack.layout import Layout
from worker.stack.ports import LOOPBACK, Ports
from worker.stack.processes import ProcessRef
from worker.stack.state_file import Endpoints, PartName, StackPart, StackPhase, StackState
from worker.stack.status import endpoints, status

ASKED = "import asyncio; from worker.stack.doctor import run_checks; from worker.settings import Settings; "
ASKED += "print(*(each.message for each in asyncio.run(run_checks(Settings.read())) if each.check == 'clock'))"


async def examined(settings: Settings) -> dict[str, CheckResult]:
    return {finding.check: finding for finding in await run_checks(settings)}


def failing(found: dict[str, CheckResult]) -> set[str]:
    wrong = {name for name, finding in found.items() if finding.level is Level.FAILURE}
    assert all(found[name].remedy for name in wrong - {"postgres"}), found
    return wrong


async def fill(url: str, held: AsyncExitStack) -> None:
    """Take all connections, also those that the server frees when it sees who has given up during the hang."""
    refused = 0
    while refused < 20:
        try:
            await held.enter_async_context(await psycopg.AsyncConnection.connect(url))
            refused = 0
        except psycopg.OperationalError:
            refused += 1
            await asyncio.sleep(0.05)


async def test_servers_that_hang_are_full_or_have_died_are_named(running: Settings) -> None:
    hanging = [pid(running, name) for name in (PartName.POSTGRES, PartName.TEMPORAL)]
    for each in hanging:
        os.kill(each, signal.SIGSTOP)
    hung = await examined(running)
    for each in hanging:
        os.kill(each, signal.SIGCONT)
    served = endpoints(running)
    assert served is not None
    async with AsyncExitStack() as held:
        await fill(served.postgres_url, held)
        full = await examined(running)
    supervisor = status(running).supervisor
    assert supervisor is not None
    os.kill(supervisor, signal.SIGKILL)
    await wait_until(lambda: status(running).supervisor is None)
    died = await examined(running)

    assert {"postgres", "temporal", "migrations", "worker"} <= failing(hung)
    assert hung["postgres"].message.startswith("PostgreSQL cannot be reached: ")  # and does not send to where one is
    assert "holdfast logs postgres" in hung["postgres"].remedy
    assert "does not answer" in hung["temporal"].message and "holdfast logs temporal" in hung["temporal"].remedy
    assert "connection slots" in full["postgres"].message and "holdfast down" in full["postgres"].remedy
    assert "temporal" not in failing(full)
    assert "its supervisor has died" in died["stack"].message and "holdfast up" in died["stack"].remedy


async def test_what_a_killed_stack_has_left_behind_is_named_and_in_nobodys_way(tmp_path: Path) -> None:
    layout = Layout(home=tmp_path / "home")
    layout.create()
    another = ProcessRef(pid=os.getpid(), born="before the last boot")  # its number is taken again
    served = Endpoints(postgres_url="postgresql://nowhere/none", temporal_address="127.0.0.1:9")
    parts = tuple(StackPart(name=name, process=another, serving=True) for name in PartName)
    state_file.write(
        layout.state, StackState(supervisor=another, phase=StackPhase.SERVING, endpoints=served, parts=parts)
    )
    killed = await examined(settings_of(layout.home))
    layout.state.write_text('{"supervisor": {"pid"')
    torn = await examined(settings_of(layout.home))

    assert failing(killed) == failing(torn) == set()
    assert "its supervisor has died" in killed["stack"].message and "holdfast up" in killed["stack"].remedy
    assert torn["stack"].message == "does not run" and "holdfast up" in torn["stack"].remedy


async def refuse_password(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """PostgreSQL's answer to a wrong password."""
    while (await reader.readexactly(struct.unpack("!I", await reader.readexactly(4))[0] - 4))[:2] == b"\x04\xd2":
        writer.write(b"N")  # no encryption
    writer.write(struct.pack("!cII", b"R", 8, 3))
    await reader.readexactly(5)
    said = b'SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed for user "me"\0\0'
    writer.write(struct.pack("!cI", b"E", 4 + len(said)) + said)
    writer.close()


async def test_a_database_that_refuses_the_password_is_named_and_the_password_is_not(
    settings: Settings, stack: Endpoints, tmp_path: Path
) -> None:
    server = await asyncio.start_server(refuse_password, LOOPBACK, 0)
    async with server:
        url = f"postgresql://me:wr0ng@{LOOPBACK}:{server.sockets[0].getsockname()[1]}/work"
        own = {"HOLDFAST_HOME": str(tmp_path), "HOLDFAST_POSTGRES_URL": url, "TEMPORAL_ADDRESS": stack.temporal_address}
        found = await examined(Settings.read({**settings.environment, **own}))

    assert (
        'password authentication failed for user "me"' in found["postgres"].message
        and LOOPBACK in found["postgres"].message
    )
    assert "HOLDFAST_POSTGRES_URL" in found["postgres"].remedy and "wr0ng" not in repr(found)
    assert "postgres" in found["migrations"].remedy and found["temporal"].level is not Level.FAILURE


async def test_data_of_another_major_version_are_named_and_left_alone(tmp_path: Path) -> None:
    settings = settings_of(tmp_path / "home")
    root = cluster.root_of(settings)
    (root / "data").mkdir(parents=True)
    try:
        (root / "data" / "PG_VERSION").write_text("9\n")
        found = await examined(settings)
    finally:
        (root / "data" / "PG_VERSION").unlink()
        (root / "data").rmdir()
        root.rmdir()

    assert found["postgres"].level is Level.FAILURE and "PostgreSQL 9" in found["postgres"].message


@contextmanager
def no_file_may_grow() -> Iterator[None]:
    """For writers like a full disk, which cannot be mounted everywhere."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_a_home_without_room_or_that_is_no_directory_and_ports_that_others_took_are_named(tmp_path: Path) -> None:
    with no_file_may_grow():
        full = await examined(settings_of(tmp_path / "full"))
    (tmp_path / "file").touch()
    impossible = await examined(settings_of(tmp_path / "file" / "home"))
    layout = Layout(home=tmp_path / "home")
    layout.create()
    with socket.create_server((LOOPBACK, 0)) as other:
        port = other.getsockname()[1]
        layout.ports.write_text(Ports(temporal=port, ui=port).model_dump_json())
        taken = await examined(settings_of(layout.home))

    assert (
        full["home"].level is Level.FAILURE
        and str(tmp_path) in full["home"].message
        and "free space" in full["home"].remedy
    )
    assert impossible["home"].level is Level.FAILURE and "HOLDFAST_HOME" in impossible["home"].remedy
    assert str(port) in taken["ports"].message and "chooses new ones" in taken["ports"].remedy


async def test_a_database_that_was_migrated_otherwise_is_named(
    settings: Settings, stack: Endpoints, postgres_url: str
) -> None:
    external = {"HOLDFAST_POSTGRES_URL": postgres_url, "TEMPORAL_ADDRESS": stack.temporal_address}
    own = Settings.read({**settings.environment, **external})
    with psycopg.connect(postgres_url) as connection:
        connection.execute("INSERT INTO holdfast.migration (number, digest) VALUES (99, 'x')")
    newer = await examined(own)
    with psycopg.connect(postgres_url) as connection:
        connection.execute("UPDATE holdfast.migration SET digest = 'other' WHERE number = 1")
    other = await examined(own)

    assert newer["migrations"].level is other["migrations"].level is Level.FAILURE
    assert "99" in newer["migrations"].message and "Another release" in other["migrations"].message


async def test_a_clock_that_goes_wrong_is_named(settings: Settings, stack: Endpoints, postgres_url: str) -> None:
    found = importlib.util.find_spec("libfaketime")
    if found is None or found.origin is None:
        pytest.skip("libfaketime is there for Linux on x86_64 only")
    library = str(Path(found.origin).parent / "vendor/libfaketime/src/libfaketime.so.1")
    faked = {"LD_PRELOAD": library, "FAKETIME": "+1h", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    external = {"HOLDFAST_POSTGRES_URL": postgres_url, "TEMPORAL_ADDRESS": stack.temporal_address}

    ended = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-P", "-c", ASKED],
        env={**settings.environment, **external, **faked},
        capture_output=True,
        text=True,
    )

    assert re.search(r"clock is 3[56]\d\d s behind", ended.stdout), ended
