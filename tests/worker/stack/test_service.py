"""A supervisor keeps its service alive, and stops an unwilling one."""

import asyncio
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.polling import wait_until
from worker.stack.service import Service, ServiceSupervisor
from worker.stack.state_file import PartName, StackPart

_SERVES = "import time; print('up', flush=True); time.sleep(600)"
_STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {_SERVES}"


class Scripted:
    """A service that is a short Python program."""

    name = PartName.WORKER
    stop_signals = ((signal.SIGTERM, 0.1), (signal.SIGKILL, 5.0))

    def __init__(self, script: str) -> None:
        self._script = script

    async def start(self) -> Process:
        argv = (sys.executable, "-c", self._script)
        return await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE)

    async def ready(self, process: Process) -> None:
        assert process.stdout is not None
        await process.stdout.readline()


class Absent(Scripted):
    """A service whose program cannot be started."""

    async def start(self) -> Process:
        raise FileNotFoundError("no such program")


@asynccontextmanager
async def _kept(service: Service) -> AsyncIterator[tuple[ServiceSupervisor, list[StackPart]]]:
    """A started supervisor and its messages; stopped at the end."""
    told: list[StackPart] = []
    service_supervisor = ServiceSupervisor(service, told.append)
    async with asyncio.TaskGroup() as group:
        service_supervisor.launch(group)
        yield service_supervisor, told
        await service_supervisor.stop()


async def test_a_service_that_ends_is_started_again() -> None:
    async with _kept(Scripted("raise SystemExit(3)")) as (_, told):
        await _exits(told, 2)

    assert {part.trouble for part in told if part.exits} == {"ended with code 3"}


async def test_a_service_that_cannot_be_started_is_tried_again() -> None:
    async with _kept(Absent("")) as (_, told):
        await _exits(told, 2)

    assert told[-1].trouble == "no such program"


async def test_a_service_that_ignores_the_first_signal_gets_the_next() -> None:
    async with _kept(Scripted(_STUBBORN)) as (service_supervisor, told):
        await service_supervisor.serving.wait()
        process = told[-1].process

    assert process is not None
    assert not process.alive


async def test_a_service_that_is_stopped_is_not_started_again() -> None:
    async with _kept(Scripted(_SERVES)) as (service_supervisor, told):
        await service_supervisor.serving.wait()

    assert (told[-1].process, told[-1].serving, told[-1].exits) == (None, False, 0)


async def _exits(told: list[StackPart], count: int) -> None:
    await wait_until(lambda: bool(told) and told[-1].exits >= count)
