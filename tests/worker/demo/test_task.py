"""The task: its test fails, the scripted edit mends it, and a second one would show."""

import subprocess
from pathlib import Path

from activities.tools.edit.substitute import substitute
from worker.demo import task
from worker.scripted.script import ScriptedCall


def passes(directory: Path) -> bool:
    return subprocess.run(task.TESTS, cwd=directory, capture_output=True, check=False).returncode == 0


def package(directory: Path, module: str) -> Path:
    for name, text in (task.FILES | {task.MODULE: module}).items():
        path = directory / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return directory


def edit() -> ScriptedCall:
    calls = [call for answer in task.script(Path("hold")).answers for call in answer.tools]
    (found,) = [call for call in calls if call.name == "edit"]
    return found


def applied(module: str) -> str:
    arguments = edit().arguments
    assert isinstance(arguments, dict)
    return substitute(module, str(arguments["oldString"]), str(arguments["newString"]))


def test_the_test_fails_before_the_edit_and_passes_after_it(tmp_path: Path) -> None:
    (tmp_path / "before").mkdir()
    (tmp_path / "after").mkdir()
    assert not passes(package(tmp_path / "before", task.FILES[task.MODULE]))
    assert passes(package(tmp_path / "after", task.MENDED_MODULE))


def test_the_scripted_edit_makes_the_expected_file() -> None:
    assert applied(task.FILES[task.MODULE]) == task.MENDED_MODULE


def test_a_second_edit_would_show() -> None:
    assert applied(task.MENDED_MODULE) != task.MENDED_MODULE
