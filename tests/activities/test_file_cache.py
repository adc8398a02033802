"""A file is read again only when it has changed."""

from pathlib import Path

import pytest

from activities.file_cache import FileCache


def test_a_file_is_read_once_until_it_is_replaced_or_removed(tmp_path: Path) -> None:
    file, reads = tmp_path / "file", []

    def read() -> str:
        reads.append(file.read_text())
        return reads[-1]

    cache = FileCache(file, read)
    with pytest.raises(FileNotFoundError):
        cache.get()
    for content in ("one", "two", "TWO"):
        (tmp_path / "draft").write_text(content)
        (tmp_path / "draft").replace(file)
        assert cache.get() == cache.get() == content
    file.unlink()
    with pytest.raises(FileNotFoundError):
        cache.get()
    assert reads == ["one", "two", "TWO"]
