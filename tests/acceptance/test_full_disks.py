"""Full disks: a command's output is cut with a note, no file is half written, the session goes on."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.acceptance.conftest import Open
from tests.acceptance.effect_ledger import effect
from tests.acceptance.scenarios import DONE
from worker.scripted.script import ScriptedAnswer, ScriptedCall
from workflows.domain.messages import CallState

pytestmark = pytest.mark.acceptance

Mount = Callable[[Path], None]

ROOM: Final = 2 * 2**20  # bytes of a small disk
_LOUD: Final = ScriptedCall(name="bash", arguments={"command": f"yes | head -c {2 * ROOM}; effect one"})


@pytest.fixture
def small_disk() -> Iterator[Mount]:
    """Mount a file system of 2 MiB at a directory; needs the right to, which root has nearly everywhere."""
    mounted: list[Path] = []

    def mount(place: Path) -> None:
        place.mkdir(parents=True, exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={ROOM},mode=0700", "tmpfs", str(place)]
        if subprocess.run(command, capture_output=True, check=False).returncode != 0:
            pytest.skip("a small file system cannot be mounted here")
        mounted.append(place)

    yield mount
    for place in mounted:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def writes(name: str, size: int) -> ScriptedAnswer:
    arguments = {"filePath": name, "content": "x" * size}
    return ScriptedAnswer(tools=(ScriptedCall(name="write", arguments=arguments),), chunk=2**20)


@pytest.mark.parametrize("place", ["calls", "."])
async def test_a_command_whose_output_has_no_room_goes_on_and_one_without_any_says_so(
    open_trial: Open, small_disk: Mount, place: str
) -> None:
    async with open_trial(ScriptedAnswer(tools=(_LOUD,)), ScriptedAnswer(tools=(effect("two"),)), DONE) as trial:
        small_disk(trial.harness.settings.home / place)
        session = await trial.played("Run it.")
        loud, quiet = await trial.harness.calls(session)
    assert loud.state is CallState.DONE and loud.outcome is not None
    assert "No space left on device" in loud.outcome.output
    assert quiet.state is CallState.FAILED and quiet.outcome is not None
    assert "has not run: No space left on device" in quiet.outcome.output and trial.effects.count("two") == 0


async def test_a_file_that_has_no_room_is_not_half_written(open_trial: Open, small_disk: Mount) -> None:
    async with open_trial(writes("a.txt", 2 * ROOM), writes("b.txt", ROOM // 4), DONE) as trial:
        small_disk(trial.harness.project)
        old = trial.harness.file("a.txt", "old\n")
        session = await trial.played("Write them.")
        large, small = await trial.harness.calls(session)
        assert old.read_text() == "old\n" and (trial.harness.project / "b.txt").stat().st_size == ROOM // 4
    assert large.state is CallState.FAILED and large.outcome is not None
    assert "No space left on device" in large.outcome.output
    assert small.state is CallState.DONE
