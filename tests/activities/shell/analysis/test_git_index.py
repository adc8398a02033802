"""The names in an index, as git itself lists them."""

import subprocess
from pathlib import Path

import pytest

from activities.shell.analysis.git_index import UnreadableIndex, read_tracked_names

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
    assert read_tracked_names(tmp_path / ".git/index") == git(tmp_path, "ls-files", "-z").split("\0")[:-1]


def test_an_index_that_is_split_broken_or_too_large_is_not_read(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a").write_text("a")
    git(tmp_path, "add", "a")
    index = tmp_path / ".git/index"
    assert read_tracked_names(index) == ["a"]
    whole = index.read_bytes()
    git(tmp_path, "update-index", "--split-index")
    for content in (index.read_bytes(), whole[:-30], whole + bytes(9), b"", b"x" * (16 * 1024 * 1024 + 1)):
        index.write_bytes(content)
        with pytest.raises(UnreadableIndex):
            read_tracked_names(index)


def test_a_repository_without_an_index_tracks_nothing(tmp_path: Path) -> None:
    assert read_tracked_names(tmp_path / "index") == []
