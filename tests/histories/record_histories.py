"""Record the histories that `test_replay.py` replays: `make record-histories [NAMES="ask_waiting stopped"]`.

Into the folder of this release; what is there is never recorded anew, for sessions of its users have such histories.
"""

import asyncio
import re
import sys
import tempfile
import uuid
from pathlib import Path

from temporalio.client import WorkflowHistory

from activities.model.wires.router import WireRouter
from activities.store.migrate import migrate
from tests.conftest import remove, settings_of
from tests.harness import harness
from tests.histories.history_scenarios import Scenario, scenarios
from tests.histories.replay import DIGESTS, FOLDER, digest
from worker.connect import connect
from worker.exit_process import exit_process
from worker.release import installed_release
from worker.scripted.script import DEFAULT_SCRIPT, Script
from worker.settings import Settings, process_environment
from worker.stack.state_file import Endpoints
from worker.stack.up import up

_TRACE = re.compile(r'("stackTrace": ")(?:[^"\\]|\\.)*')
RELEASE = FOLDER / ".".join(installed_release().version.split(".")[:2])


async def record(names: list[str]) -> None:
    """Play the named scenarios, or all that are not recorded yet, on a new stack, and write their histories."""
    with tempfile.TemporaryDirectory(prefix="holdfast-record-") as scratch:
        settings = settings_of(Path(scratch) / "home")
        endpoints = await up(settings, print, worker=False)
        try:
            await migrate(endpoints.postgres_url)
            known = scenarios(Path(scratch) / "gate")
            for name in names or [each for each in known if not list(RELEASE.glob(f"{each}_*.json"))]:
                (Path(scratch) / "gate").unlink(missing_ok=True)
                (Path(scratch) / "gate.reached").unlink(missing_ok=True)
                await play(name, known[name], settings, endpoints, Path(scratch))
        finally:
            await remove(settings)


async def play(name: str, scenario: Scenario, settings: Settings, endpoints: Endpoints, scratch: Path) -> None:
    """Play one scenario, and write the history of each of its runs."""
    own = settings.model_copy(
        update={"task_queue": f"record-{uuid.uuid4().hex[:8]}", "history_events": scenario.events or 2000}
    )
    client = await connect(own, endpoints)
    folder = scratch / name
    folder.mkdir()
    own_script = Script(answers=scenario.answers, auxiliary_answer=scenario.summary)
    scripts = {DEFAULT_SCRIPT: own_script, "child": Script(answers=scenario.child)}
    async with (
        harness(own, endpoints, client, WireRouter(process_environment()), scripts, folder) as built,
        built.running_worker(),
    ):
        played = await scenario.play(built, scratch / "gate")
    runs = client.list_workflows(f"WorkflowId STARTS_WITH '{scenario.workflow(played)}'")
    histories = [await client.get_workflow_handle(run.id, run_id=run.run_id).fetch_history() async for run in runs]
    for number, history in enumerate(sorted(histories, key=lambda each: each.events[0].event_time.ToNanoseconds())):
        write(RELEASE / f"{name}_{number}.json", history)


def write(path: Path, history: WorkflowHistory) -> None:
    """Write a history without the traces of failures, which name paths, and add its digest. Raises FileExistsError."""
    path.parent.mkdir(exist_ok=True)
    with path.open("x") as file:
        file.write(_TRACE.sub(r"\1", history.to_json()))
    with DIGESTS.open("a") as file:
        file.write(f"{digest(path)}  {path.relative_to(FOLDER)}\n")
    print(f"{path.stem}: {len(history.events)} events")


if __name__ == "__main__":
    asyncio.run(record(sys.argv[1:]))
    exit_process(0)
