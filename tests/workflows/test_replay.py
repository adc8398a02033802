"""Every recorded history replays: workflow code gives the recorded commands."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from temporalio import workflow

from tests.histories.history_scenarios import scenarios
from tests.histories.replay import digest, digests, recorded, replay
from worker.assemble import WORKFLOWS

ROOT = Path(__file__).parents[2]
RECORDED = recorded()


def named(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def test_every_scenario_has_been_recorded() -> None:
    assert {path.stem.rpartition("_")[0] for path in RECORDED} == scenarios(Path("gate")).keys()


def test_every_workflow_of_a_worker_has_been_recorded() -> None:
    starts = [json.loads(path.read_text())["events"][0]["workflowExecutionStartedEventAttributes"] for path in RECORDED]
    names = {workflow._Definition.must_from_class(each).name for each in WORKFLOWS}
    assert {start["workflowType"]["name"] for start in starts} == names


def test_no_history_of_a_release_was_changed_or_removed() -> None:
    assert {path: digest(path) for path in RECORDED} == digests(), "histories are only ever added: CONTRIBUTING.md"


@pytest.mark.parametrize("path", RECORDED, ids=named)
async def test_a_recorded_history_replays(path: Path) -> None:
    assert await replay([path]) == []


@pytest.mark.parametrize("seed", ["1", "2"])
def test_b12_all_histories_replay_in_a_fresh_process_in_any_order(seed: str) -> None:
    program = (sys.executable, "-P", "-m", "tests.histories.replay", seed)
    ended = subprocess.run(program, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, f"{len(RECORDED)} histories replay\n"), ended.stdout + ended.stderr


@pytest.mark.parametrize("path", RECORDED, ids=named)
def test_a_recorded_history_holds_no_contents(path: Path) -> None:
    events = json.loads(path.read_text())["events"]
    assert events and "Looking." not in json.dumps(events) and "a.txt" not in json.dumps(events)
