"""Record the histories that `test_replay.py` replays: `make record-histories [NAMES="ask_waiting stopped"]`."""

import asyncio
import gc
import sys
import tempfile
import uuid
from pathlib import Path

from activities.model.wires.router import WireRouter
from activities.store.migrate import migrate
from tests.conftest import remove, settings_of
from tests.harness import harness
from tests.histories.history_scenarios import Scenario, scenarios
from worker.connect import connect
from worker.outbox import workflow_id
from worker.scripted.script import DEFAULT_SCRIPT, Script
from worker.settings import Settings, process_environment
from worker.stack.state_file import Endpoints
from worker.stack.up import up

FOLDER = Path(__file__).parent


async def record(names: list[str]) -> None:
    """Play the named scenarios, or all, on a new stack, and write their histories."""
    with tempfile.TemporaryDirectory(prefix="holdfast-record-") as scratch:
        settings = settings_of(Path(scratch) / "home")
        endpoints = await up(settings, print, worker=False)
        try:
            await migrate(endpoints.postgres_url)
            known = scenarios(Path(scratch) / "gate")
            for name in names or known:
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
    scripts = {DEFAULT_SCRIPT: Script(answers=scenario.answers), "child": Script(answers=scenario.child)}
    async with (
        harness(own, endpoints, client, WireRouter(process_environment()), scripts, folder) as built,
        built.running_worker(),
    ):
        session = await scenario.play(built, scratch / "gate")
    runs = client.list_workflows(f"WorkflowId = '{workflow_id(session)}'")
    for old in FOLDER.glob(f"{name}*.json"):
        old.unlink()
    histories = [await client.get_workflow_handle(run.id, run_id=run.run_id).fetch_history() async for run in runs]
    for number, history in enumerate(sorted(histories, key=lambda each: each.events[0].event_time.ToNanoseconds())):
        (FOLDER / f"{name}_{number}.json").write_text(history.to_json())
        print(f"{name}_{number}: {len(history.events)} events")


if __name__ == "__main__":
    asyncio.run(record(sys.argv[1:]))
    gc.collect()  # a Temporal client left at the interpreter's end may abort it
