"""A directory's configuration, for clients."""

import asyncio
from pathlib import Path

from activities.store.database import Database
from tests.harness import ACTOR, Harness
from worker import release
from worker.project_config import load_project_config
from worker.serve import write_worker_note
from worker.session_client import SessionClient
from worker.settings import Settings
from worker.trust_client import list_trust

ROOT = Path(__file__).resolve().parents[2]


def settings(home: Path, **variables: str) -> Settings:
    return Settings.read({"HOME": str(home), "HOLDFAST_HOME": str(home / "holdfast"), **variables})


async def test_a_door_sees_a_directory_as_the_worker_does(tmp_path: Path) -> None:
    managed = tmp_path / "managed"
    managed.mkdir()
    (managed / "opencode.json").write_text('{"model": "a/b"}')
    before = await load_project_config(settings(tmp_path), tmp_path)

    write_worker_note(settings(tmp_path, HOLDFAST_MANAGED_CONFIG=str(managed)), release.installed_release())
    after = await load_project_config(settings(tmp_path, HOLDFAST_MANAGED_CONFIG="/nowhere"), tmp_path)

    assert (before.config.model, after.config.model) == (None, "a/b")


async def test_what_was_accepted_is_read_over_the_connections_of_a_client(harness: Harness) -> None:
    harness.configure_person(model={}, permission={"bash": "ask"})
    harness.configure(permission={"bash": {"*": "allow"}})
    async with Database(f"{harness.endpoints.postgres_url}&application_name=ours", size=2) as database:
        client = SessionClient(harness.settings, database, ACTOR, harness.holdfast.deliver)
        await client.trust.decide(await list_trust(harness.settings, client.trust, harness.project), accept=True)
        await asyncio.gather(*(client.start(str(harness.project), "Hello.") for _ in range(20)))
        found = await load_project_config(harness.settings, harness.project, database=database)
        query = b"SELECT application_name AS name FROM pg_stat_activity WHERE datname = current_database()"
        names = [row["name"] for row in await harness.database.rows(query)]
    assert found.accepted is not None and names.count("ours") == 2


def test_doors_and_turns_load_a_configuration_by_the_same_code() -> None:
    sources = {
        path: path.read_text("utf-8") for room in ("activities", "worker") for path in (ROOT / room).rglob("*.py")
    }

    def files_with(call: str) -> set[str]:
        return {str(path.relative_to(ROOT)) for path, text in sources.items() if call in text}

    assert files_with("config_loader.load_turn_config(") == {"activities/project/project_loader.py"}
    assert files_with(" ProjectLoader(") == {"worker/project_config.py"}
    readers = {f"activities/project/{name}.py" for name in ("config_files", "config_loader", "command_loader")}
    assert files_with("read_layers(") == readers
