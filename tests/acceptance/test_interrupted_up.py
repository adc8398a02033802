"""A killed start of the stack: the next start succeeds (reliability.md 5)."""

import asyncio
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil
import pytest

from tests.polling import wait_until
from tests.worker.stack.conftest import home as home
from worker.settings import Settings
from worker.stack import cluster, state_file
from worker.stack.layout import Layout
from worker.stack.state_file import PartName, StackPhase
from worker.stack.status import status
from worker.stack.up import up

pytestmark = pytest.mark.acceptance

_UP: Final = (sys.executable, "-P", "-m", "worker.cli.main", "up")


async def interrupted(settings: Settings, moment: Callable[[], bool]) -> None:
    """Type `holdfast up`, and kill it at this moment, which must last."""
    command = await asyncio.create_subprocess_exec(*_UP, env=settings.environment, stdout=asyncio.subprocess.DEVNULL)
    await wait_until(lambda: moment() or command.returncode is not None)
    command.kill()
    assert await command.wait() == -signal.SIGKILL, "it was too late to interrupt it"


def makers(data: Path) -> list[psutil.Process]:
    """The processes that make a database there."""
    return [each for each in psutil.process_iter(["cmdline"]) if str(data) in (each.info["cmdline"] or [])]


def held(data: Path) -> bool:
    """Whether a database is being made there; its program is paused from now on."""
    if not (data / "PG_VERSION").exists():
        return False
    for each in makers(data):
        with suppress(psutil.NoSuchProcess):  # one of those that it starts, which are done soon
            if each.name() == "initdb":
                each.suspend()
    return True


async def test_up_that_is_killed_again_and_again_comes_up_in_the_end(home: Settings) -> None:
    layout = Layout(home=home.home)
    data = (await cluster.locate(home)).root

    def phase() -> StackPhase | None:
        seen = state_file.read(layout.state)
        return seen.phase if seen is not None and seen.alive else None

    def parts() -> set[str]:
        return {each.name for each in status(home).parts if each.pid is not None}

    await interrupted(home, lambda: held(data / "data.new"))
    await wait_until(lambda: not makers(data / "data.new"))  # of itself it could not have ended
    await interrupted(home, lambda: phase() is StackPhase.STARTING)
    await interrupted(home, lambda: phase() is StackPhase.SERVING)

    await up(home, print)

    assert parts() == set(PartName) and all(each.exits == 0 for each in status(home).parts)
