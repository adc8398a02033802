"""A project directory for tests of files."""

from pathlib import Path

import pytest

from activities.files.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """`proj`, with an empty directory `outside` beside it."""
    for name in ("proj", "outside"):
        (tmp_path / name).mkdir()
    project = tmp_path / "proj"
    return Workspace(project, project, data=tmp_path / "data", home=tmp_path / "home", temporary=tmp_path / "tmp")
