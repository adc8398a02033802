"""Every recorded history replays: workflow code gives the commands that it gave when it was recorded."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from tests.histories.scenarios import scenarios
from worker.assemble import runner
from worker.connect import DATA_CONVERTER
from workflows.session import SessionWorkflow

FOLDER = Path(__file__).parents[1] / "histories"
RECORDED = sorted(FOLDER.glob("*.json"))


def test_every_scenario_has_been_recorded() -> None:
    recorded = {path.stem.rpartition("_")[0] for path in RECORDED}
    assert recorded == scenarios(Path("gate")).keys()


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
async def test_a_recorded_history_replays(path: Path) -> None:
    history = WorkflowHistory.from_json(f"session/{path.stem}", path.read_text())
    replayer = Replayer(workflows=[SessionWorkflow], data_converter=DATA_CONVERTER, workflow_runner=runner())
    async with replayer.workflow_replay_iterator(one(history)) as results:
        assert [result.replay_failure async for result in results] == [None]  # to its end, or the loop would inherit it


async def one(history: WorkflowHistory) -> AsyncIterator[WorkflowHistory]:
    yield history


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_recorded_history_holds_no_contents(path: Path) -> None:
    events = json.loads(path.read_text())["events"]
    assert events and "Looking." not in json.dumps(events) and "a.txt" not in json.dumps(events)
