"""The test suite on what this machine has: all of it on one Python, what may differ on the newest, and as a user who is
not root; at the end stands what was not run.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.machines import ordinary_user, pythons
from tests.machines.ordinary_user import User
from tests.machines.pythons import MINORS, ROOT, UV, Python
from workflows.domain.errors import HoldfastError

# Not pytest-rerunfailures: beside pytest-xdist each test waits 40 ms for its socket, which is eight minutes for all.
FAILED_AGAIN: Final = ("--last-failed", "--last-failed-no-failures", "none")


class SuitePart(NamedTuple):
    """Tests that run again; `share`: of the time of all tests."""

    tests: tuple[str, ...]
    share: float

    @property
    def name(self) -> str:
        return ", ".join(each.removeprefix("tests/") for each in self.tests)


# What depends on the Python: its library, its event loop, its processes.
ON_EACH: Final = SuitePart(
    (
        *("tests/domain", "tests/activities", "tests/worker/cli"),
        *("tests/worker/test_tar_extraction.py", "tests/test_pythons.py"),
    ),
    share=0.4,
)
# What depends on who runs it: files, the shell, the stack, doors and backups.
AS_A_USER: Final = SuitePart(
    (
        *("tests/activities/files", "tests/activities/shell", "tests/activities/tools", "tests/worker/stack"),
        *(
            "tests/worker/cli/commands/test_run.py",
            "tests/worker/cli/commands/test_backups.py",
            "tests/worker/test_tar_extraction.py",
        ),
    ),
    share=0.12,
)


@dataclass
class Report:
    """What ran, how it ended, and what did not run."""

    ran: list[tuple[str, int]] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)
    until: float = float("inf")  # of the monotonic clock: what would not have ended by then is not begun
    whole: float = 0.0  # seconds that all tests took
    reruns: int = 0  # how often the tests that failed run again, on the machine that has become quiet

    def run(
        self,
        what: str,
        command: Sequence[str | Path],
        *,
        user: User | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        code = _run(what, command, user, environment)
        for attempt in range(self.reruns):
            if code != pytest.ExitCode.TESTS_FAILED:
                break
            code = _run(f"again, what failed of {what}", [*command, *FAILED_AGAIN], user, environment)
            if code == 0:
                what += f", the failed ones at attempt {attempt + 2}: each is a bug all the same"
        self.ran.append((what, code))

    def lasts(self, what: str, part: SuitePart) -> bool:
        """Whether the time suffices for a part; else it is noted as not run."""
        enough = time.monotonic() + part.share * self.whole <= self.until
        if not enough:
            self.not_run.append(f"{what} (the minutes that were given are too few)")
        return enough

    def show(self) -> int:
        """Print everything; the first code other than 0."""
        print()
        for what, code in self.ran:
            print(f"{'passed' if code == 0 else f'FAILED ({code})'}: {what}")
        for what in self.not_run:
            print(f"not run: {what}")
        return next((code for _, code in self.ran if code != 0), 0)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make test", description=__doc__, allow_abbrev=False)
    parser.add_argument("--workers", default="4")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no part that would take longer")
    parser.add_argument("--reruns", type=int, default=0, help="how often the tests that failed run again, at the end")
    options, chosen = parser.parse_known_args()
    parallel = ("-n", options.workers, "--dist", "worksteal")
    began = time.monotonic()
    report = Report(until=began + 60 * options.minutes, reruns=options.reruns)
    python = Python(sys.version_info[:3], sys.executable)
    if chosen:
        report.run(f"what was chosen, on Python {python.name}", [*_pytest(Path(sys.prefix)), *parallel, *chosen])
        report.not_run.append("everything else, and other Pythons")
        return report.show()
    report.run(f"all tests on Python {python.name}", [*_pytest(Path(sys.prefix)), *parallel])
    report.whole = time.monotonic() - began
    here = pythons.installed()
    others = [each for each in (*here[:1], *here[-1:]) if each.minor != python.minor]
    _as_a_user(report, Path(sys.prefix), here, parallel)
    _on_others(report, others, parallel)
    ran = {each.minor for each in (python, *others)}
    report.not_run += [f"Python {minor}" + _why(minor, here) for minor in MINORS if minor not in ran]
    return report.show()


def _on_others(report: Report, others: Sequence[Python], parallel: Sequence[str]) -> None:
    """Run the parts that depend on the Python on each of these."""
    for python in others:
        environment, what = ROOT / f".venv-{python.minor}", f"{ON_EACH.name} on Python {python.name}"
        if not report.lasts(what, ON_EACH):
            continue
        command: list[str | Path] = [UV, "sync", "--quiet", "--locked", "--python", python.path]
        own = {**os.environ, "UV_PROJECT_ENVIRONMENT": str(environment)}
        if (synced := subprocess.run(command, cwd=ROOT, env=own)).returncode != 0:
            report.ran.append((f"installing the packages for Python {python.name}", synced.returncode))
            continue
        report.run(what, [*_pytest(environment), *parallel, *ON_EACH.tests])


def _as_a_user(report: Report, environment: Path, here: Sequence[Python], parallel: Sequence[str]) -> None:
    """Run the parts that depend on the user without root's rights."""
    if os.geteuid() != 0:
        report.not_run.append("what only root does: making the user of PostgreSQL, and giving its files to it")
        return
    if not report.lasts(f"{AS_A_USER.name} as an ordinary user", AS_A_USER):
        return
    try:
        with ordinary_user.create_user() as user:
            found = ordinary_user.project_for(user, environment, here)
            if found is None:
                report.not_run.append(
                    "as an ordinary user: every Python that is supported lies in a directory of root's"
                )
                return
            tests = [found.root / each for each in AS_A_USER.tests]
            # Nothing is written into the checkout, and names are short for the sockets that tests make.
            cache = ("-o", f"cache_dir={user.home / 'cache'}")
            options = (*cache, "--rootdir", found.root, "-c", found.root / "pyproject.toml")
            command = [*_pytest(found.environment), *options, "--basetemp", user.home / "tests", *parallel, *tests]
            what = f"{AS_A_USER.name} as an ordinary user on {found.python()}"
            report.run(what, command, user=user, environment=user.environment())
    except HoldfastError as error:
        report.not_run.append(f"as an ordinary user: {error}")


def _pytest(environment: Path) -> list[str | Path]:
    return [environment / "bin" / "pytest", "--quiet"]


def _why(minor: str, here: Sequence[Python]) -> str:
    return " (neither the oldest nor the newest here)" if minor in {each.minor for each in here} else " (not here)"


def _run(what: str, command: Sequence[str | Path], user: User | None, environment: Mapping[str, str]) -> int:
    print(f"\n== {what}", flush=True)
    if user is not None:
        command = user.command(*command)
    with subprocess.Popen(command, cwd=user.home if user else ROOT, env=dict(environment)) as process:
        return _ended(process)


def _ended(process: subprocess.Popen[bytes]) -> int:
    """Wait for a run. Ctrl-C reaches it, too: it stops its servers, and nothing more runs."""
    interrupted = False
    while process.poll() is None:
        try:
            process.wait()
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:
        raise KeyboardInterrupt
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
