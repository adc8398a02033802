"""A window of lines costs the same in files of any size."""

from pathlib import Path

import pytest

from activities.files.lines import BYTE_LIMIT, LINE_LIMIT, MAX_SCANNED_BYTES, Window, read_window


def seen(path: Path, first: int = 1, limit: int = 2000) -> Window:
    with path.open("rb") as file:
        return read_window(file, first, limit)


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", ()),
        (b"\n", ("",)),
        (b"a\nb", ("a", "b")),
        (b"a\r\nb\r\n", ("a", "b")),
        (b"\xef\xbb\xbfa\n", ("a",)),
        (b"\xff\xfea\n", ("\ufffd\ufffda",)),
        (b"a\rb\x0c\x1c\n", ("a\rb\x0c\x1c",)),
    ],
)
def test_lines_come_without_their_endings(tmp_path: Path, content: bytes, lines: tuple[str, ...]) -> None:
    (tmp_path / "file").write_bytes(content)
    assert seen(tmp_path / "file") == Window(1, lines, len(lines))


@pytest.mark.parametrize("ending", ["", "\n"])
def test_a_window_reports_its_end_and_the_number_of_lines(tmp_path: Path, ending: str) -> None:
    (tmp_path / "file").write_text("\n".join(str(n) for n in range(1, 101)) + ending)
    middle, end = seen(tmp_path / "file", 10, 2), seen(tmp_path / "file", 99)
    assert (middle.lines, middle.last, middle.total, middle.complete) == (("10", "11"), 11, 100, False)
    assert (end.lines, end.complete) == (("99", "100"), True)


@pytest.mark.parametrize(("content", "total"), [(b"a\nb\n", 2), (b"a\nb", 2), (b"a\nb\nc", 3), (b"", 0)])
def test_behind_the_end_there_is_nothing_but_the_number_of_lines(tmp_path: Path, content: bytes, total: int) -> None:
    (tmp_path / "file").write_bytes(content)
    assert seen(tmp_path / "file", total + 1) == Window(total + 1, (), total)
    assert seen(tmp_path / "file", total + 7) == Window(total + 7, (), total)


def test_a_long_line_of_any_characters_is_cut(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("😀" * 3_000_000 + "\nnext\n")
    first, second = seen(tmp_path / "file").lines
    assert first == "😀" * LINE_LIMIT + "... (line truncated to 2000 chars)"
    assert second == "next"


def test_the_line_that_no_longer_fits_is_the_next_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(f"{'y' * 1000}\n" * 80)
    shown = seen(tmp_path / "file")
    assert (shown.last, shown.capped, shown.total) == (BYTE_LIMIT // 1001, BYTE_LIMIT, 80)


def test_a_window_may_have_less_bytes_but_shows_a_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(f"{'y' * 1000}\n" * 80)
    with (tmp_path / "file").open("rb") as file:
        shown = read_window(file, 1, 80, 5000)
        file.seek(0)
        one = read_window(file, 3, 80, 10)
    assert (shown.last, shown.capped, shown.total) == (4, 5000, 80)
    assert (one.first, one.last, one.total) == (3, 3, 80)


def test_a_huge_file_is_never_read_whole(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.write(b"one\ntwo\n" + b"x" * 100)
        file.truncate(5 * 1024**3)
    with (tmp_path / "huge").open("rb") as file:
        shown = read_window(file, 1, 2)
        assert file.tell() <= MAX_SCANNED_BYTES + 2 * 1024 * 1024
    assert (shown.lines, shown.total, shown.complete) == (("one", "two"), None, False)
    assert seen(tmp_path / "huge", 4) == Window(4, (), None)
