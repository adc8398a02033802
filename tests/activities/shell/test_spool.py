"""The output on disk; only its end is read."""

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
    assert spool.read_tail(output, OutputLimits(max_lines=10, max_bytes=100)).text == ""


def test_watchers_see_the_last_thirty_thousand_characters(output: Path) -> None:
    output.write_text("\u00e9" * 40_000)
    assert spool.live_tail(output) == "...\n\n" + "\u00e9" * 30_000


def test_watchers_see_a_short_output_whole(output: Path) -> None:
    output.write_text("x" * 30_000)
    assert spool.live_tail(output) == "x" * 30_000


@pytest.mark.parametrize("character", ["x", "\u00e9", "\u4e16", "\U0001f600"])
def test_a_long_line_is_cut_at_a_character(output: Path, character: str) -> None:
    output.write_text(character * 40)
    kept = spool.read_tail(output, OutputLimits(max_lines=10, max_bytes=21))
    assert kept.cut
    assert kept.text == character * (21 // len(character.encode()))


def test_bytes_that_are_no_text_are_shown_as_such(output: Path) -> None:
    output.write_bytes(b"a\xff\xfeb\x00\n")
    assert spool.read_tail(output, OutputLimits(max_lines=10, max_bytes=100)).text == "a\ufffd\ufffdb\x00\n"


def test_an_output_beyond_the_limit_is_cut_even_if_it_is_no_text(output: Path) -> None:
    output.write_bytes(b"\xf0\x9f\x98" * 50)
    kept = spool.read_tail(output, OutputLimits(max_lines=10, max_bytes=100))
    assert kept.cut
    assert kept.text == "\ufffd" * 33


def test_a_huge_output_is_never_read_whole(output: Path) -> None:
    with output.open("wb") as file:
        file.truncate(5_000_000_000)
    tracemalloc.start()
    try:
        assert spool.read_tail(output, OutputLimits(max_lines=2_000, max_bytes=51_200)).cut
        assert len(spool.live_tail(output)) == 30_005
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_the_complete_output_is_kept_once_without_a_copy(output: Path, tmp_path: Path) -> None:
    output.write_text("all of it")
    for _ in range(2):
        spool.preserve(output, tmp_path / "tool-output" / "tool_1")
    assert output.samefile(tmp_path / "tool-output" / "tool_1")
