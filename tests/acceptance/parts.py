"""The parts of an embedded stack as processes that a test kills for real, and sees come back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import psutil

from tests.patience import appears
from worker.settings import Settings
from worker.stack.state import PartName
from worker.stack.status import status


def part(settings: Settings, name: PartName) -> list[psutil.Process]:
    """The processes of one part; PostgreSQL has one for each connection, too."""
    (pid,) = [each.pid for each in status(settings).parts if each.name == name]
    assert pid is not None, f"{name} does not run"
    process = psutil.Process(pid)
    return [process, *(process.children() if name is PartName.POSTGRES else [])]


def everything(settings: Settings) -> list[psutil.Process]:
    """The supervisor and all that it keeps alive."""
    return [supervisor(settings), *(process for name in PartName for process in part(settings, name))]


def supervisor(settings: Settings) -> psutil.Process:
    pid = status(settings).supervisor
    assert pid is not None, "the stack does not run"
    return psutil.Process(pid)


async def kill(*processes: psutil.Process) -> None:
    """SIGKILL, and see them gone."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):  # went with one that was killed before it
            process.kill()
    await appears(lambda: all(map(gone, processes)))


async def power_off(*processes: psutil.Process) -> None:
    """SIGKILL for all at once, as when the machine goes down: none of them hears of another's death, and tidies up."""
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
async def kept_away(settings: Settings, name: PartName) -> AsyncIterator[None]:
    """Kill a server, and let its supervisor start it again only at the end of the block."""
    parent = supervisor(settings)
    parent.suspend()
    try:
        await kill(*part(settings, name))
        yield
    finally:
        parent.resume()
