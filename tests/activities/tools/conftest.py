"""Scratch projects for tests of tools."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.files.place import Place
from tests.activities.tools.calling import project

NOBODY = 65534


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return project(tmp_path)


@pytest.fixture
def unprivileged() -> Iterator[Place]:
    """A project of somebody for whom the rights of files count: root becomes nobody as long as the test runs."""
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
