"""Removing a stack: only what is its own."""

from pathlib import Path

import pytest

from worker.settings import Settings
from worker.stack import locks
from worker.stack.layout import Layout
from worker.stack.purge import purge, purge_items
from workflows.domain.errors import UsageError


def settings(home: Path) -> Settings:
    return Settings.read({"HOME": str(home.parent), "HOLDFAST_HOME": str(home)})


def test_a_directory_that_is_no_stacks_home_is_refused(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()

    with pytest.raises(UsageError, match="does not look like a stack's home"):
        purge_items(settings(tmp_path))


async def test_strange_files_archives_and_what_links_lead_to_stay(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    for directory in (home / "temporal", home / "archive", elsewhere):
        directory.mkdir(parents=True)
    (elsewhere / "thesis.txt").touch()
    (home / "calls").symlink_to(elsewhere)
    (home / "stack.json").write_text("{}")

    left = await purge(settings(home), purge_items(settings(home)))

    assert [path.name for path in left] == ["archive"]
    assert (elsewhere / "thesis.txt").exists()


async def test_what_an_up_has_made_that_was_killed_before_its_first_word_goes_and_nothing_beside_strange_files(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    layout = Layout(home=home)
    layout.create()
    layout.log("supervisor").touch()
    async with locks.hold(layout.up_lock), locks.hold(layout.supervisor_lock):
        pass  # and whoever held them is dead
    (home / "thesis.txt").touch()
    with pytest.raises(UsageError, match="does not look like a stack's home"):
        purge_items(settings(home))
    (home / "thesis.txt").unlink()

    assert await purge(settings(home), purge_items(settings(home))) == []
    assert not home.exists()


async def test_an_empty_home_goes_too(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "stack.json").write_text("{}")

    assert await purge(settings(home), purge_items(settings(home))) == []
    assert not home.exists()
