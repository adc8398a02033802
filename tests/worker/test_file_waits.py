"""Looks at files that calls wait for: a change ends the wait, and nothing else does."""

import os
import shutil

import pytest

from activities.store import waits
from tests.activities.conftest import database as database
from tests.activities.conftest import rig as rig
from tests.activities.rig import ActivityRig
from worker.file_waits import FileWaits
from workflows.domain.ids import PartId
from workflows.domain.waits import WaitEnd
from workflows.domain.wake_signal import WakeKind


async def waiting(rig: ActivityRig, **arguments: str) -> tuple[PartId, FileWaits]:
    await rig.open_turn()
    call = await rig.called("wait", **arguments)
    await rig.run(call)
    return call, FileWaits(rig.database, rig.deliver, None)


async def ending(rig: ActivityRig, call: PartId) -> WaitEnd | None:
    found = await waits.of_call(rig.database, call)
    assert found is not None
    return found.ending


@pytest.mark.parametrize("way", ["changed", "deleted", "replaced"])
async def test_a_change_ends_the_wait_and_what_only_looks_like_one_does_not(rig: ActivityRig, way: str) -> None:
    file = rig.file("a.txt", "one")
    os.utime(file, (1, 1))
    call, looks = await waiting(rig, file="a.txt")
    await looks.look()
    file.touch()
    await looks.look()
    assert await ending(rig, call) is None and rig.sent == []

    match way:
        case "changed":
            file.write_text("two")
        case "deleted":
            file.unlink()
        case "replaced":
            file.unlink()
            file.mkdir()
    await looks.look()
    await looks.look()
    assert await ending(rig, call) is WaitEnd.CHANGED
    assert (await rig.types()).count("wait.ended") == 1
    assert [(each.kind, each.subject) for each in rig.sent][-1] == (WakeKind.SETTLED, call)
    await rig.run(call)
    assert (await rig.output(call)).startswith("The file a.txt has changed or was deleted")


async def test_a_file_of_an_absent_project_is_not_taken_for_deleted(rig: ActivityRig) -> None:
    rig.file("a.txt", "one")
    call, looks = await waiting(rig, file="a.txt")
    moved = rig.project.with_name("elsewhere")
    rig.project.rename(moved)
    await looks.look()
    assert await ending(rig, call) is None
    moved.rename(rig.project)
    await looks.look()
    assert await ending(rig, call) is None


async def test_a_link_in_the_place_of_a_directory_is_not_followed(rig: ActivityRig) -> None:
    rig.file("logs/a.txt", "one")
    call, looks = await waiting(rig, file="logs/a.txt")
    shutil.rmtree(rig.project / "logs")
    (rig.project / "logs").symlink_to("/etc")
    await looks.look()
    assert await ending(rig, call) is None


async def test_a_host_looks_at_its_own_files_only(rig: ActivityRig) -> None:
    file = rig.file("a.txt", "one")
    call, _ = await waiting(rig, file="a.txt")
    file.write_text("two")
    await FileWaits(rig.database, rig.deliver, "elsewhere").look()
    assert await ending(rig, call) is None
