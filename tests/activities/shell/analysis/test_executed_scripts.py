"""The files that a command runs are known, with their contents."""

import hashlib
from pathlib import Path

import pytest

from activities.shell.analysis.analyse import ShellContext, analyse
from activities.shell.analysis.executed_scripts import MAX_SCRIPT_BYTES, executed_scripts


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("./run.sh", ["run.sh"]),
        ("sub/../run.sh --fast && ./run.sh", ["run.sh"]),
        ("timeout 5 python3 -u tool.py x", ["tool.py"]),
        ("bash run.sh", ["run.sh"]),
        (". ./run.sh", ["run.sh"]),
        ("cd sub && ../run.sh", ["run.sh"]),
        ("python -m tool", []),
        ("bash -c './run.sh'", ["run.sh"]),
        ("cat run.sh", []),
        ("./gone.sh; ls; /bin/ls", []),
    ],
)
def test_scripts_are_found_in_every_place_that_runs_them(tmp_path: Path, command: str, found: list[str]) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("run.sh", "tool.py"):
        (tmp_path / name).write_text(name)
    targets = executed_scripts(analyse(command, ShellContext(tmp_path, tmp_path, {})))
    assert [target.path for target in targets] == [str(tmp_path / name) for name in found]
    assert all(target.before == hashlib.sha256(Path(target.path).name.encode()).hexdigest() for target in targets)


@pytest.mark.parametrize("size", [MAX_SCRIPT_BYTES - 1, MAX_SCRIPT_BYTES, MAX_SCRIPT_BYTES + 1, 5 * 1024**3])
def test_a_program_is_known_by_its_content_or_where_that_is_too_large_by_its_change(tmp_path: Path, size: int) -> None:
    def found() -> str | None:
        (target,) = executed_scripts(analyse("./program", ShellContext(tmp_path, tmp_path, {})))
        return target.before

    with (tmp_path / "program").open("wb") as file:
        file.truncate(size)
        first, again = found(), found()
        file.write(b"x")
        file.flush()

    assert first == again != found()
    assert (":" in str(first)) == (size > MAX_SCRIPT_BYTES)
