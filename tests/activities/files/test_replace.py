"""A file is replaced as a whole, once, by the newest attempt, or not at all."""

import asyncio
import dataclasses
import stat
from pathlib import Path

import pytest

from activities.files.replace import Replacement, file_digest, remove_temporaries, replace_files
from workflows.domain.errors import StaleFence, ToolError


async def passed() -> None:
    """A fence that is still valid."""


async def overtaken() -> None:
    raise StaleFence("a later attempt has taken over")


def change(target: Path, attempt: str = "1-1-1") -> Replacement:
    private = target.parent / "calls" / "prt_1"
    return Replacement(target, file_digest(target), b"new", call="prt_1", attempt=attempt, private=private)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_a_file_gets_new_content_and_keeps_its_rights(tmp_path: Path) -> None:
    target = tmp_path / "run.sh"
    target.write_text("old")
    target.chmod(0o750)
    await replace_files([change(target)], passed)
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o750
    assert names(tmp_path) == [target.name]


async def test_a_new_file_is_made_with_its_folders(tmp_path: Path) -> None:
    await replace_files([change(tmp_path / "a/b/new.txt")], passed)
    assert (tmp_path / "a/b/new.txt").read_text() == "new"


async def test_a_file_that_was_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("old")
    seen = change(target)
    target.write_text("somebody else's")
    with pytest.raises(ToolError, match="changed in the meantime"):
        await replace_files([seen], passed)
    assert target.read_text() == "somebody else's"
    assert names(tmp_path) == [target.name]


async def test_a_file_that_appeared_meanwhile_is_left_alone(tmp_path: Path) -> None:
    seen = change(tmp_path / "file")
    (tmp_path / "file").write_text("somebody else's")
    with pytest.raises(ToolError, match="changed in the meantime"):
        await replace_files([seen], passed)
    assert (tmp_path / "file").read_text() == "somebody else's"


async def test_an_overtaken_attempt_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(StaleFence):
        await replace_files([change(tmp_path / "file")], overtaken)
    assert names(tmp_path) == []


async def test_the_late_rename_of_a_zombie_fails(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("old")

    async def paused_while_a_later_attempt_works() -> None:
        remove_temporaries(target, "prt_1")
        await replace_files([dataclasses.replace(change(target, attempt="1-1-2"), content=b"newest")], passed)
        target.write_text("old")

    with pytest.raises(ToolError):
        await replace_files([change(target)], paused_while_a_later_attempt_works)
    assert target.read_text() == "old"


async def test_only_what_attempts_of_this_call_left_is_removed(tmp_path: Path) -> None:
    for name in (".holdfast-prt_1-1-1-1", ".holdfast-prt_1-2-1-1", ".holdfast-prt_2-1-1-1", "mine"):
        (tmp_path / name).touch()
    remove_temporaries(tmp_path / "file", "prt_1")
    assert names(tmp_path) == [".holdfast-prt_2-1-1-1", "mine"]
    remove_temporaries(tmp_path / "gone" / "file", "prt_1")


async def test_a_cancellation_before_the_rename_changes_nothing(tmp_path: Path) -> None:
    async def stopped() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await replace_files([change(tmp_path / "file")], stopped)
    assert names(tmp_path) == []


async def test_a_cancellation_during_the_rename_comes_too_late(tmp_path: Path) -> None:
    async def stopped_when_it_is_over() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    await replace_files([change(tmp_path / "file")], stopped_when_it_is_over)
    assert (tmp_path / "file").read_text() == "new"


def changes(folder: Path) -> list[Replacement]:
    """`a` gets new content, `b` comes, `c` goes."""
    (folder / "a").write_text("a")
    (folder / "c").write_text("c")
    found = [change(folder / name) for name in "abc"]
    found[2] = dataclasses.replace(found[2], content=None)
    return [dataclasses.replace(each, place=place) for place, each in enumerate(found)]


def texts(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


async def test_several_files_are_all_changed(tmp_path: Path) -> None:
    await replace_files(changes(tmp_path), passed)
    assert texts(tmp_path) == {"a": "new", "b": "new"}


@pytest.mark.parametrize("theirs", ["a", "b", "c"])
async def test_of_several_files_none_is_changed_when_one_was_meanwhile(tmp_path: Path, theirs: str) -> None:
    async def somebody_else() -> None:
        (tmp_path / theirs).write_text("theirs")

    with pytest.raises(ToolError, match=rf"/{theirs}' has changed in the meantime; nothing was written"):
        await replace_files(changes(tmp_path), somebody_else)
    assert texts(tmp_path) == {"a": "a", "c": "c"} | {theirs: "theirs"}


async def test_a_stop_comes_too_late_once_the_first_of_several_files_is_changed(tmp_path: Path) -> None:
    async def stopped_after_the_first() -> None:
        if (tmp_path / "a").read_text() != "a":
            task.cancel()

    task = asyncio.create_task(replace_files(changes(tmp_path), stopped_after_the_first))
    await task
    assert texts(tmp_path) == {"a": "new", "b": "new"}
