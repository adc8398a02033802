"""A demo's preparation: its own files, and settings without a server or repository of the user's."""

import json
import subprocess
from datetime import datetime
from pathlib import Path

import pytest

from worker.cli.demo import slug_project
from worker.cli.demo.play import Demo
from worker.cli.render.terminal_writer import TerminalWriter
from worker.settings import Settings


@pytest.fixture
def demo(tmp_path: Path) -> Demo:
    environment = {
        "HOME": str(tmp_path),
        "PATH": "/usr/bin:/bin",
        "HOLDFAST_HOME": str(tmp_path / "mine"),
        "HOLDFAST_POSTGRES_URL": "postgresql://mine",
        "HOLDFAST_START_SECONDS": "77",
        "TEMPORAL_ADDRESS": "mine:7233",
        "HOLDFAST_WORKER": "false",
        "GIT_DIR": str(tmp_path / "mine" / ".git"),
    }
    return Demo(Settings.read(environment), TerminalWriter(live=False), datetime(2026, 1, 2, 3, 4, 5))


def test_its_stack_is_beside_the_users(demo: Demo, tmp_path: Path) -> None:
    assert demo.settings.home == tmp_path / "mine-demo" / "stack"
    assert demo.folder == tmp_path / "mine-demo" / "plays" / "20260102-030405"


def test_its_settings_name_no_server_and_no_repository_of_the_users(demo: Demo) -> None:
    assert demo.settings.postgres_url is None and demo.settings.external_temporal is None
    assert demo.settings.worker and "GIT_DIR" not in demo.settings.environment
    assert demo.settings.start_seconds == 77


def test_its_files_are_the_project_and_a_configuration_with_the_scripted_model(demo: Demo) -> None:
    demo.write_files("http://127.0.0.1:1/v1")
    config = json.loads((demo.settings.config / "opencode.json").read_text())
    assert (demo.repository / slug_project.MODULE).read_text() == slug_project.FILES[slug_project.MODULE]
    assert config["provider"]["demo"]["options"]["baseURL"] == "http://127.0.0.1:1/v1"
    assert config["model"] == "demo/scripted"


def test_the_recorded_command_waits_for_the_gate_and_ends_with_the_commands_code(demo: Demo) -> None:
    demo.write_files("http://127.0.0.1:1/v1")
    ran = demo.folder / "ran"
    with subprocess.Popen(
        ["sh", "-c", f"exec recorded sh -c 'touch {ran}; exit 7'"], env=dict(demo.settings.environment)
    ) as process:
        while not demo.read_effects():
            assert process.poll() is None
        ran_before = ran.exists()
        demo.gate.touch()
        assert process.wait() == 7
    assert not ran_before and ran.exists()
    assert demo.read_effects() == [f"start {process.pid}", f"end {process.pid}"]
