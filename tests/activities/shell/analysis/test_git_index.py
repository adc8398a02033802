"""The names in an index, as git itself lists them."""

import struct
import subprocess
from pathlib import Path

import pytest

from activities.shell.analysis.git_index import read_tracked_names
from activities.shell.analysis.repository import tracked_names, unsafe_setting
from workflows.domain.errors import UnreadableIndex

NAMES = (".eaa", ".env", "sub/a", "sub/b.env", "sub/ü", "x" * 200, "y" * 129)


def git(directory: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(directory), *arguments], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("hashes", ["sha1", "sha256"])
@pytest.mark.parametrize("version", ["2", "4"])
def test_the_names_are_those_that_git_lists(tmp_path: Path, hashes: str, version: str) -> None:
    git(tmp_path, "init", "-q", f"--object-format={hashes}")
    for name in (*NAMES, "later"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    git(tmp_path, "add", *NAMES)
    git(tmp_path, "add", "-N", "later")  # an entry with more flags
    git(tmp_path, "update-index", f"--index-version={version}")
    assert tracked_names(tmp_path) == git(tmp_path, "ls-files", "-z").split("\0")[:-1]


def test_an_index_that_is_split_broken_or_too_large_is_not_read(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a").write_text("a")
    git(tmp_path, "add", "a")
    index = tmp_path / ".git/index"
    assert read_tracked_names(index, 20) == ["a"]
    whole = index.read_bytes()
    git(tmp_path, "update-index", "--split-index")
    for content in (index.read_bytes(), whole[:-30], whole + bytes(9), b"", b"x" * (16 * 1024 * 1024 + 1)):
        index.write_bytes(content)
        with pytest.raises(UnreadableIndex):
            read_tracked_names(index, 20)


def test_a_repository_without_an_index_tracks_nothing(tmp_path: Path) -> None:
    assert read_tracked_names(tmp_path / "index", 20) == []


def test_an_index_with_junk_behind_it_is_not_read_with_longer_ids(tmp_path: Path) -> None:
    """Git passes over fewer than eight bytes; with ids of 32 bytes, another name can be read there."""
    name = "vendor-lib01234567"
    hostile_inner_repository(tmp_path, name, "sha1")
    index = tmp_path / ".git/index"
    end = 12 + (40 + 20 + 2 + len(name) + 8) // 8 * 8
    index.write_bytes(index.read_bytes()[:end] + b"AAAA" + bytes(4) + b"junk" + bytes(20))

    assert name in git(tmp_path, "ls-files") and unsafe_setting(tmp_path) == "its index cannot be read"
    with pytest.raises(UnreadableIndex):
        tracked_names(tmp_path)


def test_an_index_of_long_ids_is_not_read_with_shorter_ones(tmp_path: Path) -> None:
    """An id of 32 bytes may hold another name, and the rest as an extension."""
    hostile_inner_repository(tmp_path, "sub", "sha256")
    index = tmp_path / ".git/index"
    status = index.read_bytes()[12:52]
    id = b"A" * 20 + b"\0\1" + b"x\0" + b"AAAA"
    entry = status + id + struct.pack(">I", 12 + 80 + 32 - 20 - 76 - 8) + struct.pack(">H", 3) + b"sub" + bytes(3)
    index.write_bytes(b"DIRC" + struct.pack(">II", 2, 1) + entry + bytes(32))

    assert git(tmp_path, "ls-files") == "sub\n" and "filter.x.clean" in (unsafe_setting(tmp_path) or "")
    assert tracked_names(tmp_path) == ["sub"]


@pytest.mark.parametrize(
    "line", ['objectFormat = "sha256"', "objectFormat = sha512", "objectFormat", "objectFormat = sha\\\n256"]
)
def test_an_index_is_not_read_where_the_length_of_its_ids_is_uncertain(tmp_path: Path, line: str) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a").write_text("a")
    git(tmp_path, "add", "a")
    with (tmp_path / ".git/config").open("a") as file:
        file.write(f"[extensions]\n\t{line}\n")
    with pytest.raises(ValueError):
        tracked_names(tmp_path)


def hostile_inner_repository(directory: Path, name: str, hashes: str) -> None:
    """A repository that tracks another one, whose configuration starts a program."""
    git(directory, "init", "-q", f"--object-format={hashes}")
    inner = directory / name
    inner.mkdir()
    git(inner, "init", "-q", f"--object-format={hashes}")
    (inner / "f").write_text("1")
    git(inner, "add", "f")
    git(inner, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")
    git(directory, "add", name)
    git(inner, "config", "filter.x.clean", "touch ran; cat")
