"""`holdfast demo` as a person plays it: in a home of its own, with real kills."""

import asyncio
import re
import subprocess
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.acceptance import failure_report
from tests.acceptance.conftest import Failed
from tests.conftest import remove, settings_of
from worker.cli.commands import demo
from worker.connect import connect
from worker.scripted.request_ledger import RequestRecord, StreamEnd, read_ledger
from worker.settings import Settings
from worker.stack.down import down
from worker.stack.up import up

pytestmark = pytest.mark.acceptance


@dataclass
class Person:
    """A person with a fresh home."""

    home: Path
    environment: dict[str, str]

    @property
    def stack(self) -> Path:
        return self.home / ".local/share/holdfast-demo/stack"

    @property
    def play(self) -> Path:
        """The directory of the one demo that was played."""
        (found,) = self.stack.with_name("plays").iterdir()
        return found

    async def demo(self) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_shell(
            f"{demo.HOLDFAST} demo", stdout=pipe, stderr=asyncio.subprocess.STDOUT, env=self.environment
        )

    def types(self, line: str) -> subprocess.CompletedProcess[str]:
        """A line in this person's shell, in the demo's directory."""
        return subprocess.run(["sh", "-c", line], env=self.environment, capture_output=True, text=True, check=False)


@pytest.fixture
async def person(tmp_path: Path, settings: Settings, failed: Failed) -> AsyncIterator[Person]:
    path = settings.environment["PATH"]
    another_person = Person(tmp_path, {"HOME": str(tmp_path), "PATH": path})
    own = settings_of(another_person.stack)
    yield another_person
    try:
        if failed():
            endpoints = await up(own, print, worker=False)
            await failure_report.report_failure(own, endpoints, await connect(own, endpoints), tmp_path)
    finally:
        await (down(own, print) if failed() else remove(own))


async def test_the_demo_is_killed_three_times_and_ends_well(person: Person) -> None:
    process = await person.demo()
    printed = (await process.communicate())[0].decode()
    assert process.returncode == 0, printed
    assert "\nFAILED " not in printed and printed.count("\nok ") == 8
    assert printed.count("  kill -9   ") == printed.count("  goes on   ") == 3
    assert_session_shown(printed)
    assert_paid_once(read_ledger(person.play / "model.jsonl"))
    assert_ran_once(person.play)
    assert_mended(person.play / "slugs")
    assert_lines_work(person, printed)


def assert_session_shown(printed: str) -> None:
    """Each event once, as `watch` shows it, across the kills."""
    rows = re.findall(r"^\d\d:\d\d:\d\d │ (.*)", printed, re.MULTILINE)
    shown = [re.sub(r" \(a\d+\)$", "", row) for row in rows]
    edit, command = f"edit  {demo.MODULE}", f"bash  {demo.COMMAND}"
    expected = [f"> {demo.PROMPT}", *(text for text, _ in demo.ANSWERS)]
    expected += [f"? {edit} needs an answer", f"… {edit}", f"✓ {edit}", f"? {command} needs an answer"]
    expected += [f"… {command}", f"… {command} (resumed after an interruption)", f"✓ {command}"]
    assert Counter(row for row in shown if row in expected) == Counter(expected), printed


def assert_paid_once(requests: list[RequestRecord]) -> None:
    """One whole answer per step, and one for the title; only the cut one was requested again."""
    whole = Counter(entry.step for entry in requests if entry.end is StreamEnd.COMPLETE)
    assert whole == dict.fromkeys(range(-1, len(demo.ANSWERS)), 1)
    cut = [(entry.step, entry.end) for entry in requests if entry.end is not StreamEnd.COMPLETE]
    assert cut == [(demo.INTERRUPTED, StreamEnd.CLIENT_LEFT)]


def assert_ran_once(play: Path) -> None:
    start, end = (line.split() for line in (play / "effects.log").read_text().splitlines())
    assert (start[0], end[0]) == ("start", "end") and start[1] == end[1]


def assert_mended(repository: Path) -> None:
    def run(*argv: str) -> str:
        return subprocess.run(argv, cwd=repository, capture_output=True, text=True, check=True).stdout

    added = [line for line in run("git", "diff", "--unified=0").splitlines() if re.match(r"[+-][^+-]", line)]
    assert len(added) == 1 and added[0].startswith("+    text = re.sub(")
    run(*demo.TEST.split())


def assert_lines_work(person: Person, printed: str) -> None:
    """Every line printed at the demo's end works, and the log matches the demo."""
    offered = [line.strip() for line in printed.partition("Try next")[2].splitlines()[1:] if line.strip()]
    ended = [person.types(line) for line in offered]
    assert len(offered) >= 3 and [each.returncode for each in ended] == [0] * len(offered), ended
    (head,) = re.findall(r"hash ([0-9a-f]{64})", printed)
    assert head in next(each.stdout for line, each in zip(offered, ended, strict=True) if " log " in line)
