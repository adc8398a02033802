"""The scratch home for tests of a project's files."""

from pathlib import Path

import pytest

from tests.activities.project.project_home import Person, ProjectHome


@pytest.fixture
def project_home(tmp_path: Path) -> ProjectHome:
    home = tmp_path.resolve() / "home"
    project = home / "code" / "project"
    (project / ".git").mkdir(parents=True)
    return ProjectHome(home=home, config=home / ".config" / "opencode", project=project)


@pytest.fixture
def person(project_home: ProjectHome) -> Person:
    return Person(project_home)
