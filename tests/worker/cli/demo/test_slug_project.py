"""The demo's project: its test fails, the scripted edit fixes it, and a second edit would show."""

import subprocess
from pathlib import Path

from activities.tools.edit.substitute import substitute
from worker.cli.demo import slug_project


def passes(directory: Path, module: str) -> bool:
    for name, text in (slug_project.FILES | {slug_project.MODULE: module}).items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    run = subprocess.run(slug_project.TEST_COMMAND.split(), cwd=directory, capture_output=True, check=False)
    return run.returncode == 0


def edited(module: str) -> str:
    calls = [call for answer in slug_project.script(Path("hold")).answers for call in answer.tools]
    (arguments,) = [call.arguments for call in calls if call.name == "edit"]
    assert isinstance(arguments, dict)
    return substitute(module, str(arguments["oldString"]), str(arguments["newString"]))[0]


def test_the_test_fails_before_the_scripted_edit_and_passes_after_it(tmp_path: Path) -> None:
    broken = slug_project.FILES[slug_project.MODULE]
    assert not passes(tmp_path / "before", broken)
    assert passes(tmp_path / "after", edited(broken))
    assert edited(broken) == slug_project.FIXED_MODULE


def test_a_second_edit_would_show() -> None:
    assert edited(slug_project.FIXED_MODULE) != slug_project.FIXED_MODULE
