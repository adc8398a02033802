"""A directory for a test's commands, which end with it, and a checker for commands."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from activities.shell import termination
from tests.activities.shell.checker import CommandChecker, make_checker
from tests.activities.shell.command_rig import CommandRig


@pytest.fixture
async def commands(tmp_path: Path) -> AsyncIterator[CommandRig]:
    commands = CommandRig(tmp_path)
    yield commands
    for call, directory in commands.started.items():
        await asyncio.to_thread(termination.stop_command, directory, call)


@pytest.fixture(scope="session")
def checker(tmp_path_factory: pytest.TempPathFactory) -> CommandChecker:
    return make_checker(tmp_path_factory.mktemp("world").resolve())
