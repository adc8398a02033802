"""The parts of an embedded stack as processes that a test kills."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import chain
from random import Random

import psutil

from tests.polling import wait_until
from worker.settings import Settings
from worker.stack.state_file import PartName
from worker.stack.status import PartStatus, status
from worker.stack.up import up


def part(settings: Settings, name: PartName) -> list[psutil.Process]:
    """The processes of a part that serves; PostgreSQL has one per connection, too."""
    found = _status(settings, name)
    assert found.pid is not None and found.serving, f"{name} does not serve"
    process = psutil.Process(found.pid)
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
async def servers_down(
    settings: Settings,
    *names: PartName,
    with_them: Sequence[psutil.Process] = (),
    supervisor_too: bool = False,
    order: Random | None = None,
) -> AsyncIterator[None]:
    """Kill servers, and others `with_them`, in this order; after the block, wait until the servers serve again."""
    parent, parts = supervisor(settings), {name: part(settings, name) for name in names}
    victims = [*chain(*parts.values()), *with_them]
    if order is not None:
        order.shuffle(victims)
    parent.suspend()  # it starts nothing before the end of the block
    try:
        await kill(*([parent] if supervisor_too else []), *victims)
        yield
    finally:
        if gone(parent):
            await up(settings, lambda _: None, worker=False)
        else:
            parent.resume()
    for name, (former, *_) in parts.items():
        await wait_until(partial(_restarted, settings, name, former.pid))


def _restarted(settings: Settings, name: PartName, former: int) -> bool:
    found = _status(settings, name)
    return found.serving and found.pid != former


def _status(settings: Settings, name: PartName) -> PartStatus:
    return next(each for each in status(settings).parts if each.name == name)
