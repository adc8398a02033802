"""The configuration of a directory, as doors see it."""

from pathlib import Path

from worker import release
from worker.serve import introduce
from worker.settings import Settings
from worker.survey import survey

ROOT = Path(__file__).resolve().parents[2]


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


def test_doors_and_turns_load_a_configuration_by_the_same_code() -> None:
    sources = {
        path: path.read_text("utf-8") for room in ("activities", "worker") for path in (ROOT / room).rglob("*.py")
    }

    def files_with(call: str) -> set[str]:
        return {str(path.relative_to(ROOT)) for path, text in sources.items() if call in text}

    assert files_with("load.load(") == {"activities/project/survey.py"}
    assert files_with(" Surveyor(") == {"worker/survey.py"}
    assert files_with("read_layers(") == {"activities/project/files.py", "activities/project/load.py"}
