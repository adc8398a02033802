"""Stacks of a test's own, for tests that kill."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.conftest import remove, settings_of
from worker.settings import Settings
from worker.stack.state_file import PartName
from worker.stack.status import PartStatus, status
from worker.stack.up import up


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Settings]:
    """Settings of a stack that does not run yet; removed after the test. Its path has all that addresses and lists of
    directories take for their own."""
    settings = settings_of(tmp_path / "a home, 50%20 ?x=y #1")
    yield settings
    print(*(f"--- {log.name}\n{log.read_text()[-4000:]}" for log in sorted((settings.home / "logs").glob("*.log"))))
    await remove(settings)


@pytest.fixture
async def running(home: Settings) -> Settings:
    """Settings of the test's own running stack."""
    await up(home, print, worker=False)
    return home


def part(settings: Settings, name: PartName) -> PartStatus:
    """The current state of one part."""
    return next(part for part in status(settings).parts if part.name == name)


def pid(settings: Settings, name: PartName) -> int:
    found = part(settings, name).pid
    assert found is not None
    return found
