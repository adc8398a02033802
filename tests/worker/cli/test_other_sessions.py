"""Sessions in one directory are named to each other."""

from pathlib import Path

import pytest

from tests.worker.cli.conftest import OpenHarness, shell
from worker.cli.other_sessions import share_files
from worker.scripted.script import ScriptedAnswer

HELLO = ScriptedAnswer(text="Hello.")


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ("p", "p", True),
        ("p", "p/sub", True),
        ("p/sub", "p/other", True),
        ("q/sub", "q/other", False),
        ("q", "q", True),
        ("q", "q/sub", False),
        (".", "p", False),
        ("p", "q", False),
    ],
)
def test_directories_are_shared_where_they_are_the_same_or_in_one_work_tree(
    tmp_path: Path, one: str, other: str, shared: bool
) -> None:
    (tmp_path / "p" / ".git").mkdir(parents=True)
    assert share_files(str(tmp_path / one), str(tmp_path / other)) is shared


async def test_run_watch_and_sessions_name_other_sessions_at_work_there(open_harness: OpenHarness) -> None:
    async with open_harness(HELLO) as harness:
        first = await harness.start_session("one")
        person = shell(harness)
        begun = await person.run("run", "-m", "scripted/model", "--detach", "two")
        second = begun.out.strip()
        listed = await person.run("sessions")
        async with harness.running_worker():
            await harness.ended(first)
            watched = await person.run("watch", second, "--until-idle")
            alone = await person.run("sessions")

    assert begun.code == 0 and f"Session {first} is at work in {harness.project}, too" in begun.err
    assert f"At work in one directory, {harness.project}: " in listed.err and first in listed.err
    assert second in listed.err and watched.code == 0
    assert "At work in one directory" not in alone.err
