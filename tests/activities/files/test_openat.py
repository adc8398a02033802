"""A path is opened only where no link is on the way."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from activities.files.openat import open_without_links


def test_a_real_path_is_opened(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("content")
    with os.fdopen(open_without_links(tmp_path / "file", os.O_RDONLY)) as file:
        assert file.read() == "content"


@pytest.mark.parametrize("path", ["link", "folder/file"])
def test_a_link_is_refused_at_every_position(tmp_path: Path, path: str) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/file").touch()
    (tmp_path / "link").symlink_to("real/file")
    (tmp_path / "folder").symlink_to("real")
    with pytest.raises(OSError, match="symbolic links|Not a directory"):
        open_without_links(tmp_path / path, os.O_RDONLY)


def test_nothing_stays_open_after_a_refusal(tmp_path: Path) -> None:
    before = opened((tmp_path, *tmp_path.parents))
    with pytest.raises(FileNotFoundError):
        open_without_links(tmp_path / "a/b/c", os.O_RDONLY)
    assert opened((tmp_path, *tmp_path.parents)) <= before


def opened(directories: Sequence[Path]) -> set[tuple[str, Path]]:
    """Descriptors of this process for these directories; others come and go with its threads and its garbage."""
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            found.add((entry.name, entry.readlink()))
    return {(number, target) for number, target in found if target in directories}


def test_the_root_itself_can_be_opened() -> None:
    descriptor = open_without_links(Path("/"), os.O_RDONLY | os.O_DIRECTORY)
    assert os.fstat(descriptor).st_ino == Path("/").stat().st_ino
    os.close(descriptor)
