"""The program that writes its own start and end down."""

import subprocess
import sys
from pathlib import Path

from worker.demo import effect
from worker.demo.evidence import read_marks


def command(directory: Path, *argv: str) -> list[str]:
    program = [sys.executable, "-I", str(effect.__file__)]
    return [*program, str(directory / "ledger"), str(directory / "gate"), "token", *argv]


def test_start_and_end_are_written_by_the_process_itself(tmp_path: Path) -> None:
    (tmp_path / "gate").touch()
    process = subprocess.Popen(command(tmp_path, "true"))
    process.wait()
    marks = read_marks(tmp_path / "ledger")
    assert [(mark.what, mark.token, mark.pid) for mark in marks] == [
        ("start", "token", process.pid),
        ("end", "token", process.pid),
    ]


def test_the_exit_code_is_the_commands_own(tmp_path: Path) -> None:
    (tmp_path / "gate").touch()
    assert subprocess.run(command(tmp_path, "sh", "-c", "exit 7"), check=False).returncode == 7


def test_nothing_runs_before_the_gate_opens(tmp_path: Path) -> None:
    with subprocess.Popen(command(tmp_path, "touch", str(tmp_path / "ran"))) as process:
        while not read_marks(tmp_path / "ledger"):
            assert process.poll() is None
        ran_before = (tmp_path / "ran").exists()
        (tmp_path / "gate").touch()
    assert not ran_before and (tmp_path / "ran").exists()
