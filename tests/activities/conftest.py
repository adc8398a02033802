"""A test's database, a session in it to run activities on, and scratch projects."""

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from activities import failpoints
from activities.files.workspace import Workspace
from activities.store.database import Database
from activities.turn_context import TurnContext
from tests.activities.rig import ActivityRig, open_rig
from tests.activities.tools.tool_calls import project

NOBODY = 65534
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
async def rig(database: Database, tmp_path: Path) -> ActivityRig:
    """A session in a project directory; the test opens its turn."""
    return await open_rig(database, tmp_path)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return project(tmp_path)


@pytest.fixture
def turn(workspace: Workspace) -> TurnContext:
    """A turn without rules in the scratch project."""
    return TurnContext(workspace)


@pytest.fixture
def unprivileged() -> Iterator[Workspace]:
    """A project whose user is subject to file permissions: root becomes `nobody` for the test."""
    scratch = Path(tempfile.mkdtemp())
    root = os.geteuid() == 0
    if root:
        os.chown(scratch, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield project(scratch)
    finally:
        if root:
            os.setresuid(0, 0, 0)
        shutil.rmtree(scratch)
