"""What `make test` finds on a machine: Pythons, and an ordinary user."""

import os
import pwd
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from packaging.specifiers import SpecifierSet

from tests.machines import ordinary_user, pythons, quick
from tests.machines.__main__ import AS_A_USER, ON_EACH, Report, SuitePart

ROOT = Path(__file__).resolve().parent.parent


def test_supported_pythons_are_found_once_each_and_the_oldest_is_named() -> None:
    found = pythons.installed()
    named = subprocess.run([sys.executable, ROOT / "tests/machines/pythons.py"], capture_output=True, text=True)

    assert sys.version_info[:3] in [each.version for each in found]
    assert [each.version for each in found] == sorted({each.version for each in found})
    assert all(each.name in SpecifierSet(pythons.SUPPORTED) for each in found)
    assert named.stdout.strip() == found[0].path


def test_every_folder_that_is_run_again_is_there() -> None:
    assert [name for name in (*ON_EACH.tests, *AS_A_USER.tests) if not (ROOT / name).exists()] == []


def test_a_run_that_fails_fails_the_whole(capfd: pytest.CaptureFixture[str]) -> None:
    report = Report(not_run=["Python 3.14 (not here)"])
    for what, code in (("first", "0"), ("second", "3"), ("third", "1")):
        report.run(what, ["sh", "-c", f"exit {code}"])

    assert report.show() == 3
    assert capfd.readouterr().out.endswith(
        "passed: first\nFAILED (3): second\nFAILED (1): third\nnot run: Python 3.14 (not here)\n"
    )


@pytest.mark.parametrize(("reruns", "failures", "code"), [(0, 1, 1), (1, 1, 0), (1, 2, 1), (2, 2, 0)])
def test_what_failed_runs_again_and_the_end_says_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], reruns: int, failures: int, code: int
) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]")
    (tmp_path / "test_it.py").write_text(
        "import pathlib\n"
        "runs = pathlib.Path(__file__).with_name('runs')\n"
        "def test_good(): assert not runs.exists()\n"
        "def test_bad():\n    with runs.open('a') as file: print(file=file)\n"
        f"    assert len(runs.read_text()) > {failures}\n"
    )
    report = Report(reruns=reruns)
    pytest_here = (sys.executable, "-m", "pytest", "-n", "1", "--rootdir", tmp_path, "-c", tmp_path / "pytest.ini")
    report.run("what is there", [*pytest_here, tmp_path])

    assert report.show() == code
    told = capfd.readouterr().out.splitlines()[-1]
    passed = f"passed: what is there, the failed ones at attempt {reruns + 1}: each is a bug all the same"
    assert told == (f"FAILED ({code}): what is there" if code else passed)


def test_a_part_that_would_not_end_in_time_is_not_begun_and_named() -> None:
    report = Report(until=time.monotonic() + 60, whole=100)

    assert report.lasts("short", SuitePart(("tests/short",), share=0.5))
    assert not report.lasts("long", SuitePart(("tests/long",), share=0.7))
    assert report.not_run == ["long (the minutes that were given are too few)"]


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("workflows/domain/budgets.py", "tests/domain/test_budgets.py"),
        ("worker/stack/purge.py", "tests/worker/stack/test_purge.py"),
        ("activities/store/queries/turns.sql", "tests/activities/store/test_turns.py"),
        ("tests/machines/quick.py", None),
        ("tests/test_machines.py", "tests/test_machines.py"),
        ("docs/usage.md", "tests/test_docs.py"),
        ("worker/stack/ports.py", "tests/worker/stack/test_ports.py"),
    ],
)
def test_a_changed_file_is_tested_by_that_of_its_place_and_name(changed: str, tests: str | None) -> None:
    found = [str(each) for each in quick.tests_of(Path(changed), ROOT)]

    assert (ROOT / changed).exists() and all((ROOT / each).exists() for each in found)
    assert (tests in found) if tests else not found


def test_what_is_not_committed_is_found_or_else_the_last_commit(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=tmp_path, check=True, capture_output=True
        )

    def commit(name: str) -> None:
        (tmp_path / name).write_text(name)
        git("add", name)
        git("commit", "-m", name)

    git("init")
    commit("before")
    commit("committed")
    last = quick.changed_files(tmp_path)
    (tmp_path / "before").write_text("changed")
    (tmp_path / "new").touch()

    assert last == [Path("committed")]
    assert quick.changed_files(tmp_path) == [Path("before"), Path("new")]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes users")
def test_an_ordinary_user_may_not_what_root_may_and_leaves_nothing(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("root's")
    secret.chmod(0o600)
    with ordinary_user.create_user() as user:
        environment = user.environment()
        subprocess.run(user.command("touch", user.home / "tmp" / "mine"), env=environment, check=True)
        read = subprocess.run(user.command("cat", secret), env=environment, capture_output=True)
        groups = subprocess.run(user.command("id", "-G"), env=environment, capture_output=True, text=True)
        left = subprocess.Popen(user.command("sleep", "600"), env=environment)

    left.wait()
    assert read.returncode != 0 and groups.stdout.split() == [str(user.gid)]
    assert not psutil.pid_exists(left.pid) and not user.home.exists()
    assert user.name not in [entry.pw_name for entry in pwd.getpwall()]
    assert not [name for name in environment if "KEY" in name or "TOKEN" in name]
