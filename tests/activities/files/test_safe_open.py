"""Only regular files and directories are opened, and only as judged."""

import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from activities.files.safe_open import descriptor_path, open_directory, open_file, open_without_links, read_whole
from workflows.domain.errors import ToolError


def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ToolError, match="not a regular file"):
        open_file(tmp_path / "pipe")


def test_a_socket_a_device_and_a_directory_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        for path in (tmp_path / "socket", Path("/dev/zero"), tmp_path):
            with pytest.raises(ToolError):
                open_file(path)


def test_a_link_put_there_after_the_judgement_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").symlink_to("/etc/passwd")
    with pytest.raises(ToolError, match="link made meanwhile"):
        open_file(tmp_path / "file")


def test_a_file_is_read_up_to_a_limit(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert read_whole(tmp_path / "file", 5) == b"12345"
    with pytest.raises(ToolError, match="larger than 4 bytes"):
        read_whole(tmp_path / "file", 4)


def test_missing_directories_are_made_step_by_step(tmp_path: Path) -> None:
    with open_directory(tmp_path / "a/b/c", create=True) as descriptor:
        os.mkdir("d", dir_fd=descriptor)
    assert (tmp_path / "a/b/c/d").is_dir()


def test_no_directory_is_made_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "link").symlink_to("outside")
    with pytest.raises(ToolError), open_directory(tmp_path / "link/new", create=True):
        pass
    assert not (tmp_path / "outside/new").exists()


def test_an_open_directory_is_reached_after_a_rename(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/file").touch()
    with open_directory(tmp_path / "real") as descriptor:
        (tmp_path / "real").rename(tmp_path / "moved")
        assert [path.name for path in descriptor_path(descriptor, tmp_path / "real").iterdir()] == ["file"]


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
