"""The doctor on a stack whose parts are broken in turn: it names the part, and the way out."""

import asyncio
import importlib.util
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import psycopg
import pytest

from tests.conftest import settings_of
from tests.patience import appears
from tests.worker.stack.conftest import pid
from worker.settings import Settings
from worker.stack import cluster
from worker.stack.doctor import Finding, Level, examine
from worker.stack.layout import Layout
from worker.stack.ports import LOOPBACK, Ports
from worker.stack.state import Endpoints, PartName
from worker.stack.status import endpoints, status

ASKED = "import asyncio; from worker.stack.doctor import examine; from worker.settings import Settings; "
ASKED += "print(*(each.says for each in asyncio.run(examine(Settings.read())) if each.check == 'clock'))"


async def examined(settings: Settings) -> dict[str, Finding]:
    return {finding.check: finding for finding in await examine(settings)}


def failing(found: dict[str, Finding]) -> set[str]:
    wrong = {name for name, finding in found.items() if finding.level is Level.FAILURE}
    assert all(found[name].remedy for name in wrong - {"postgres"}), found
    return wrong


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
        with pytest.raises(psycopg.OperationalError):
            while True:
                await held.enter_async_context(await psycopg.AsyncConnection.connect(served.postgres_url))
        full = await examined(running)
    supervisor = status(running).supervisor
    assert supervisor is not None
    os.kill(supervisor, signal.SIGKILL)
    await appears(lambda: status(running).supervisor is None)
    died = await examined(running)

    assert {"postgres", "temporal", "migrations", "worker"} <= failing(hung)
    assert "does not answer" in hung["temporal"].says and "holdfast logs temporal" in hung["temporal"].remedy
    assert "connection slots" in full["postgres"].says and "holdfast down" in full["postgres"].remedy
    assert "temporal" not in failing(full)
    assert "its supervisor has died" in died["stack"].says and "holdfast up" in died["stack"].remedy


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

    assert found["postgres"].level is Level.FAILURE and "PostgreSQL 9" in found["postgres"].says


async def test_a_home_that_cannot_be_written_to_and_ports_that_others_took_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    impossible = await examined(settings_of(tmp_path / "file" / "home"))
    layout = Layout(home=tmp_path / "home")
    layout.create()
    with socket.create_server((LOOPBACK, 0)) as other:
        port = other.getsockname()[1]
        layout.ports.write_text(Ports(temporal=port, ui=port).model_dump_json())
        taken = await examined(settings_of(layout.home))

    assert impossible["home"].level is Level.FAILURE and "HOLDFAST_HOME" in impossible["home"].remedy
    assert str(port) in taken["ports"].says and "chooses new ones" in taken["ports"].remedy


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
    assert "99" in newer["migrations"].says and "another Holdfast" in other["migrations"].says


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
