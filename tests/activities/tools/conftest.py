"""A scratch project for tests of tools."""

from pathlib import Path

import pytest

from activities.files.place import Place
from tests.activities.tools.calling import project


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return project(tmp_path)
