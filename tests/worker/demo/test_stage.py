"""The stage: beside the user's own home, and led to no server of the user's."""

import json
import subprocess
from datetime import datetime
from pathlib import Path

import pytest

from worker.demo import task
from worker.demo.evidence import read_marks
from worker.demo.stage import Stage
from worker.scripted.script import DEFAULT, read_scripts
from worker.settings import Settings

NOW = datetime(2026, 1, 2, 3, 4, 5)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    environment = {
        "HOME": str(tmp_path),
        "PATH": "/usr/bin:/bin",
        "HOLDFAST_HOME": str(tmp_path / "mine"),
        "HOLDFAST_CACHE": str(tmp_path / "cache"),
        "HOLDFAST_POSTGRES_URL": "postgresql://mine",
        "TEMPORAL_ADDRESS": "mine:7233",
        "HOLDFAST_WORKER": "false",
        "GIT_DIR": str(tmp_path / "mine" / ".git"),
    }
    return Stage.beside(Settings.read(environment), NOW)


def test_it_stands_beside_the_users_home_and_shares_the_programs(stage: Stage, tmp_path: Path) -> None:
    assert stage.settings.home == tmp_path / "mine-demo" / "stack"
    assert stage.settings.cache == tmp_path / "cache"
    assert stage.folder == tmp_path / "mine-demo" / "plays" / "20260102-030405"


def test_it_knows_no_server_and_no_repository_of_the_users(stage: Stage) -> None:
    assert stage.settings.postgres_url is None and stage.settings.external_temporal is None
    assert stage.settings.worker and "GIT_DIR" not in stage.settings.environment


def test_its_files_are_the_task_and_the_script(stage: Stage) -> None:
    script = stage.make()
    assert read_scripts(stage.script) == {DEFAULT: script}
    assert (stage.repository / task.MODULE).read_text() == task.FILES[task.MODULE]
    assert json.loads((stage.repository / "opencode.json").read_text())["permission"] == {"edit": "ask", "bash": "ask"}


def test_its_effect_program_writes_its_ledger(stage: Stage) -> None:
    stage.make()
    stage.gate.touch()
    subprocess.run(["effect", "token", "true"], env=stage.settings.environment, check=True)
    assert [mark.what for mark in read_marks(stage.effects)] == ["start", "end"]


def test_the_provider_is_named_in_its_own_configuration(stage: Stage) -> None:
    stage.configure("http://127.0.0.1:1/v1")
    config = json.loads((stage.folder / "config" / "opencode" / "opencode.json").read_text())
    assert config["model"] == task.MODEL
    assert config["provider"]["demo"]["options"]["baseURL"] == "http://127.0.0.1:1/v1"
