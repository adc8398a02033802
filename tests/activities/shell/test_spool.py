"""The output on disk; what models and watchers see of it."""

import tracemalloc
from pathlib import Path

import pytest

from activities.shell import spool
from workflows.domain.context.truncate import OutputLimits


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "spool"


def test_nothing_written_is_an_empty_text(output: Path) -> None:
    assert spool.size(output) == 0
    assert spool.live_tail(output) == ""
    assert spool.read_excerpt(output, OutputLimits(max_lines=10, max_bytes=100)).text == ""


def test_watchers_see_the_last_thirty_thousand_characters(output: Path) -> None:
    output.write_text("\u00e9" * 40_000)
    assert spool.live_tail(output) == "...\n\n" + "\u00e9" * 30_000


def test_watchers_see_a_short_output_whole(output: Path) -> None:
    output.write_text("x" * 30_000)
    assert spool.live_tail(output) == "x" * 30_000


@pytest.mark.parametrize("character", ["x", "\u00e9", "\u4e16", "\U0001f600"])
def test_a_long_line_is_cut_at_a_character(output: Path, character: str) -> None:
    output.write_text(character * 40)
    shown = spool.read_excerpt(output, OutputLimits(max_lines=10, max_bytes=22))
    assert shown.part == "lines 1-1 of 1"
    assert shown.text == character * (21 // len(character.encode()))


def test_beginning_and_end_of_a_long_output_are_shown(output: Path) -> None:
    output.write_text("".join(f"{number}\n" for number in range(1, 101)))
    shown = spool.read_excerpt(output, OutputLimits(max_lines=10, max_bytes=1000))
    assert shown.text == "1\n2\n\n... 91 lines left out ...\n\n94\n95\n96\n97\n98\n99\n100\n"
    assert shown.part == "lines 1-2 and 94-100 of 100"


@pytest.mark.parametrize("mebibytes", [1, 30])
def test_lines_are_numbered_as_in_all_of_it(output: Path, mebibytes: int) -> None:
    count = mebibytes << 16
    output.write_text("".join(f"{number:15}\n" for number in range(1, count + 1)))
    shown = spool.read_excerpt(output, OutputLimits())
    lines = shown.text.split("\n")
    first = int(lines[402 + 1])
    assert (int(lines[0]), int(lines[399]), int(lines[-2])) == (1, 400, count)
    assert shown.part == f"lines 1-400 and {first}-{count} of {count}"
    assert lines[401] == f"... {first - 401} lines left out ..."
    assert len(shown.text.encode()) <= OutputLimits().max_bytes + 50


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("\x1b[31mred\x1b[0m \x1b[1;38;5;9mbright\x1b[m\n", "red bright\n"),
        ("\x1b]8;;file:///a\x1b\\link\x1b]8;;\x07 \x1b(B\x1b7\x1bP1$r\x1b\\\x1b[?25lend", "link end"),
        ("a\r\nb\r\n", "a\r\nb\r\n"),
        ("a.txt:\x1b[01;31m\x1b[Kneedle\x1b[m\x1b[K \n", "a.txt:needle \n"),
        ("an open \x1b[ stays\x1b", "an open tays\x1b"),
    ],
)
def test_colours_are_not_shown(output: Path, written: str, read: str) -> None:
    output.write_bytes(written.encode())
    assert spool.read_excerpt(output, OutputLimits()) == (read, None)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (" 1%\r 50%\r\x1b[32m100%\x1b[0m\ndone\n", "100%\ndone\n"),
        (" 1%\r 50%\r", " 50%\r"),
        ("1%\r\r2%\r\n", "2%\r\n"),
        ("loading...\rdone\n", "doneing...\n"),
        ("loading...\r\x1b[Kdone\nab\x1b[2K\rc\r\n", "done\nc\r\n"),
        ("50%\b\b\b100%\n-\b\b\\\b|\n", "100%\n|\n"),
        ("built 1 of 2\r" + " " * 12 + "\rdone\x1b[0K\n", "done\n"),
    ],
)
def test_progress_that_was_written_over_is_left_out_and_that_is_said(output: Path, written: str, read: str) -> None:
    output.write_bytes(written.encode())
    assert spool.read_excerpt(output, OutputLimits()) == (read, "all lines, long or overwritten ones shortened")


def test_a_long_line_is_cut_as_read_cuts_it(output: Path) -> None:
    output.write_text("x" * 100_000 + "\nend\n")
    shown = spool.read_excerpt(output, OutputLimits())
    assert shown.text == "x" * 2000 + "... (line truncated to 2000 chars)\nend\n"
    assert shown.part == "all lines, long or overwritten ones shortened"


@pytest.mark.parametrize("newline", ["", "\n"])
def test_of_one_huge_line_both_ends_are_shown(output: Path, newline: str) -> None:
    output.write_text("a" * 400_000 + "b" * 400_000 + newline)
    shown = spool.read_excerpt(output, OutputLimits())
    cut = "a" * 2000 + "... (line truncated to 2000 chars)"
    assert shown == (f"{cut}\n\n...\n\n{'b' * (2000 - len(newline))}{newline}", "lines 1-1 and 1-1 of 1")


def test_bytes_that_are_no_text_are_shown_as_such(output: Path) -> None:
    output.write_bytes(b"a\xff\xfeb\x00\n")
    assert spool.read_excerpt(output, OutputLimits(max_lines=10, max_bytes=100)).text == "a\ufffd\ufffdb\x00\n"


def test_an_output_beyond_the_limit_is_cut_even_if_it_is_no_text(output: Path) -> None:
    output.write_bytes(b"\xf0\x9f\x98" * 50)
    shown = spool.read_excerpt(output, OutputLimits(max_lines=10, max_bytes=100))
    assert (shown.text, shown.part) == ("\ufffd" * 33, "lines 1-1 of 1")


def test_a_huge_output_is_never_read_whole(output: Path) -> None:
    with output.open("wb") as file:
        file.truncate(500_000_000)
    tracemalloc.start()
    try:
        assert spool.read_excerpt(output, OutputLimits()).part
        assert len(spool.live_tail(output)) == 30_005
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_the_complete_output_is_kept_once_without_a_copy(output: Path, tmp_path: Path) -> None:
    output.write_text("all of it")
    for _ in range(2):
        spool.preserve(output, tmp_path / "tool-output" / "tool_1")
    assert output.samefile(tmp_path / "tool-output" / "tool_1")
