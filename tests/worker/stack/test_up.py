"""Starting the stack: once, by any number of commands, as the settings say."""

import asyncio
import os
import shutil
import stat
import sys

import psutil
import pytest

from tests.conftest import settings_of
from tests.worker.stack.conftest import pid
from worker.settings import Settings
from worker.stack import locks
from worker.stack.layout import Layout
from worker.stack.state_file import Endpoints, PartName
from worker.stack.status import endpoints, external_endpoints, status
from worker.stack.up import up
from workflows.domain.errors import Unavailable, UsageError

_UP = """
import asyncio
from worker.settings import Settings
from worker.stack.up import up
print(asyncio.run(up(Settings.read(), lambda _: None, worker=False)).model_dump_json())
"""


async def test_two_commands_at_once_start_one_stack(home: Settings) -> None:
    said = await asyncio.gather(_up_elsewhere(home), _up_elsewhere(home))

    assert said[0] == said[1]
    assert endpoints(home) == Endpoints.model_validate_json(said[0])
    supervisors = [process for process in psutil.process_iter(["cmdline", "cwd"]) if _supervises(process, home)]
    assert len(supervisors) == 1


async def test_the_worker_is_started_after_the_migrations_and_only_when_it_is_wanted(running: Settings) -> None:
    migrated: list[str] = []

    async def migrate(url: str) -> None:
        assert [part.name for part in status(running).parts] == [PartName.POSTGRES, PartName.TEMPORAL]
        migrated.append(url)

    served = await up(running, print, migrate=migrate)

    assert migrated == [served.postgres_url]
    assert psutil.Process(pid(running, PartName.WORKER)).environ()["MALLOC_ARENA_MAX"] == "2"


async def test_a_server_that_cannot_start_is_reported_with_its_log(home: Settings) -> None:
    broken = settings_of(home.home, HOLDFAST_TEMPORAL_DYNAMIC="nonsense")

    with pytest.raises(Unavailable, match="temporal does not start(.|\n)*nonsense"):
        await up(broken, print, worker=False)


async def test_external_servers_need_nothing_here() -> None:
    settings = _external()

    served = await up(settings, print, worker=False)

    assert served == external_endpoints(settings) == endpoints(settings)
    assert served.temporal_address == "temporal.example:7233"
    assert not Layout(home=settings.home).state.exists()


async def test_an_external_postgres_is_not_started_here(home: Settings, postgres_url: str) -> None:
    settings = settings_of(home.home, HOLDFAST_POSTGRES_URL=postgres_url)

    served = await up(settings, print, worker=False)

    assert served.postgres_url == postgres_url
    assert [part.name for part in status(settings).parts] == [PartName.TEMPORAL]


async def test_a_home_that_is_purged_while_it_is_waited_for_is_made_anew(home: Settings) -> None:
    settings = settings_of(home.home, HOLDFAST_POSTGRES_URL="postgresql://elsewhere.invalid/db")
    waiting = asyncio.Event()
    async with locks.hold(Layout(home=settings.home).up_lock):
        starting = asyncio.create_task(up(settings, lambda _: waiting.set(), worker=False))
        await waiting.wait()
        shutil.rmtree(settings.home)

    served = await starting

    assert endpoints(settings) == served
    assert stat.S_IMODE(settings.home.stat().st_mode) == 0o700


async def test_settings_that_name_other_servers_than_those_that_run_are_refused(
    settings: Settings, stack: Endpoints
) -> None:
    other = settings_of(settings.home, HOLDFAST_POSTGRES_URL="postgresql://elsewhere/db")

    with pytest.raises(UsageError, match="holdfast down"):
        await up(other, print, worker=False)


def _external() -> Settings:
    variables = {"HOME": "/nowhere", "HOLDFAST_POSTGRES_URL": "postgresql://postgres.example/holdfast"}
    return Settings.read(variables | {"TEMPORAL_ADDRESS": "temporal.example:7233"})


async def _up_elsewhere(settings: Settings) -> bytes:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-c", _UP), env=settings.environment, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    assert process.returncode == 0
    return said


def _supervises(process: psutil.Process, settings: Settings) -> bool:
    arguments = process.info["cmdline"] or []
    return "worker.stack.stack_supervisor" in arguments and process.info["cwd"] == os.fspath(settings.home)
