"""What a person decides is refused to a call of an agent, by each door, before anything is looked up or started."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from worker.cli.main import commands
from workflows.domain.errors import UsageError

DOORS = [
    "answer once",
    "answer reject",
    "trust --yes",
    "trust --revoke",
    "grants revoke gra_1",
    "resume last",
    "delete last --yes",
    "down --purge --yes",
    "schedules resume sch_1",
    "schedules delete sch_1 --yes",
    "restore pyproject.toml",
    "agents create mine",
    "auth login openai",
    "auth logout openai",
    "send last --max-cost 9 go",
    "run --turn-max-steps 9 go",
    "run --on-limit finish go",
]


@pytest.mark.parametrize("door", DOORS)
def test_each_door_is_closed_to_a_call_of_an_agent(door: str, tmp_path: Path) -> None:
    own = {"HOME": str(tmp_path), "HOLDFAST_HOME": str(tmp_path / "home"), "HOLDFAST_CALL_ID": "prt_1"}

    ended = CliRunner().invoke(commands, door.split(), env=own)

    assert isinstance(ended.exception, UsageError) and "Only a person may decide" in str(ended.exception)
    assert not (tmp_path / "home").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only there the processes above are looked at")
def test_a_call_is_found_above_a_command_that_has_lost_its_variable() -> None:
    look = (
        "from worker.cli.person_check import agents_call; from worker.settings import Settings;"
        "print(agents_call(Settings.read({'HOME': '/'})))"
    )

    found = subprocess.run(
        ["/bin/sh", "-c", 'unset HOLDFAST_CALL_ID; "$0" -P -c "$1"; true', sys.executable, look],
        env={"HOLDFAST_CALL_ID": "prt_9", "PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        check=True,
    )

    assert found.stdout == "prt_9\n"
