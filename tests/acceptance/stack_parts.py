"""The parts of an embedded stack as processes that a test kills."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import psutil

from tests.polling import wait_until
from worker.settings import Settings
from worker.stack.state_file import PartName
from worker.stack.status import status


def part(settings: Settings, name: PartName) -> list[psutil.Process]:
    """The processes of one part; PostgreSQL has one per connection, too."""
    (pid,) = [each.pid for each in status(settings).parts if each.name == name]
    assert pid is not None, f"{name} does not run"
    process = psutil.Process(pid)
    return [process, *(process.children() if name is PartName.POSTGRES else [])]


def everything(settings: Settings) -> list[psutil.Process]:
    """The supervisor and all its processes."""
    return [supervisor(settings), *(process for name in PartName for process in part(settings, name))]


def supervisor(settings: Settings) -> psutil.Process:
    pid = status(settings).supervisor
    assert pid is not None, "the stack does not run"
    return psutil.Process(pid)


async def kill(*processes: psutil.Process) -> None:
    """SIGKILL, and wait for the end."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):  # went with one that was killed before it
            process.kill()
    await wait_until(lambda: all(map(gone, processes)))


async def power_off(*processes: psutil.Process) -> None:
    """SIGKILL all together, as a power failure does: none tidies up after another's death."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):  # a connection's, which has ended
            process.suspend()
    await kill(*processes)


def gone(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@asynccontextmanager
async def kept_down(settings: Settings, name: PartName) -> AsyncIterator[None]:
    """Kill a server; its supervisor restarts it only after the block."""
    parent = supervisor(settings)
    parent.suspend()
    try:
        await kill(*part(settings, name))
        yield
    finally:
        parent.resume()
