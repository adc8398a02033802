"""The configuration of a directory, as doors see it."""

from pathlib import Path

from worker import release
from worker.serve import introduce
from worker.settings import Settings
from worker.survey import survey


def settings(home: Path, **variables: str) -> Settings:
    return Settings.read({"HOME": str(home), "HOLDFAST_HOME": str(home / "holdfast"), **variables})


async def test_a_door_sees_a_directory_as_the_worker_does(tmp_path: Path) -> None:
    managed = tmp_path / "managed"
    managed.mkdir()
    (managed / "opencode.json").write_text('{"model": "a/b"}')
    before = await survey(settings(tmp_path), tmp_path)

    introduce(settings(tmp_path, HOLDFAST_MANAGED_CONFIG=str(managed)), release.mine())
    after = await survey(settings(tmp_path, HOLDFAST_MANAGED_CONFIG="/nowhere"), tmp_path)

    assert (before.config.model, after.config.model) == (None, "a/b")
