"""A place for the commands of a test, an end for whatever it leaves running, and a world to judge commands in."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from activities.shell import ending
from tests.activities.shell.commands import Commands
from tests.activities.shell.world import World, made


@pytest.fixture
async def commands(tmp_path: Path) -> AsyncIterator[Commands]:
    commands = Commands(tmp_path)
    yield commands
    for call, directory in commands.started.items():
        await asyncio.to_thread(ending.stop, directory, call)


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return made(tmp_path_factory.mktemp("world").resolve())
