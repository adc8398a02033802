"""A place for the commands of a test, and an end for whatever it leaves running."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from activities.shell import ending
from tests.activities.shell.commands import Commands


@pytest.fixture
async def commands(tmp_path: Path) -> AsyncIterator[Commands]:
    commands = Commands(tmp_path)
    yield commands
    for call, directory in commands.started.items():
        await asyncio.to_thread(ending.stop, directory, call)
