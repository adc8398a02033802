"""A database of the test's own, and a session in it to run activities on."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from activities import failpoints
from activities.store.database import Database
from tests.activities.scene import Scene, scene_in

Arm = Callable[[str], None]


@pytest.fixture
def arm(tmp_path: Path) -> Iterator[Arm]:
    """Arms faults in this process, and disarms them."""
    yield lambda faults: failpoints.configure({failpoints.VARIABLE: faults, failpoints.TEST_VARIABLE: str(tmp_path)})
    failpoints.configure({})


@pytest.fixture
async def database(postgres_url: str) -> AsyncIterator[Database]:
    async with Database(postgres_url) as opened:
        yield opened


@pytest.fixture
async def scene(database: Database, tmp_path: Path) -> Scene:
    """A session in a project directory; its turn is opened by the test."""
    return await scene_in(database, tmp_path)
