"""The scratch world of the tests of a project's files."""

from pathlib import Path

import pytest

from tests.activities.project.world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    home = tmp_path.resolve() / "home"
    project = home / "code" / "project"
    (project / ".git").mkdir(parents=True)
    return World(home=home, config=home / ".config" / "opencode", project=project)
