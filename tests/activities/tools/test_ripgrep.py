"""ripgrep is asked with what was judged, and understood whatever names and files hold."""

import os
from pathlib import Path

import pytest

from activities.tools.ripgrep import LINE_LIMIT, Match, list_files, search_lines
from workflows.domain.errors import ToolError


def everything(_: Path) -> bool:
    return True


async def found(where: Path, pattern: str, limit: int = 100) -> list[Match]:
    return await search_lines(where, pattern, None, everything, limit)


async def test_names_with_line_breaks_and_other_bytes_are_understood(tmp_path: Path) -> None:
    name = "new\nline: x\udcff.txt"
    (tmp_path / name).write_text("needle\n")
    assert await list_files(tmp_path, "*.txt", 10) == [tmp_path / name]
    assert await found(tmp_path, "needle") == [Match(tmp_path / name, 1, "needle")]


async def test_a_search_that_does_not_end_is_ended(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".ignore")
    with pytest.raises(ToolError, match="did not end within 0.2 s"):
        await list_files(tmp_path, "*", 10, timeout=0.2)


async def test_the_notice_of_a_binary_file_is_no_match(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"needle\n" + b"x\n" * 100_000 + b"\0needle\n")
    (tmp_path / "b.txt").write_text("needle\n")
    assert await found(tmp_path, "needle") == [Match(tmp_path / n, 1, "needle") for n in ("a.bin", "b.txt")]


async def test_a_single_file_is_searched_alone(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("a\nneedle\r\n")
    (tmp_path / "two.txt").write_text("needle\n")
    assert await found(tmp_path / "one.txt", "needle") == [Match(tmp_path / "one.txt", 2, "needle")]


async def test_a_binary_file_alone_has_no_matches(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\0\nneedle\n")
    assert await found(tmp_path / "a.bin", "needle") == []


async def test_a_line_of_any_length_is_cut(tmp_path: Path) -> None:
    (tmp_path / "min.js").write_text("é" * 1_000_000 + "needle\n")
    (match,) = await found(tmp_path, "needle")
    assert match.text == "é" * LINE_LIMIT + "..."


async def test_a_huge_file_is_never_searched_whole(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.write(b"needle\n")
        file.truncate(5 * 1024**3)
    (tmp_path / "small").write_text("needle\n")
    assert [match.path.name for match in await found(tmp_path, "needle")] == ["small"]
    with pytest.raises(ToolError, match="search it with bash"):
        await found(tmp_path / "huge", "needle")


async def test_links_out_of_the_directory_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret.txt").write_text("needle\n")
    (tmp_path / "in/link").symlink_to("..")
    assert await list_files(tmp_path / "in", "**", 10) == []
    assert await found(tmp_path / "in", "needle") == []


async def test_what_is_not_accepted_does_not_count(tmp_path: Path) -> None:
    for name in ("a.env", "b.txt", "c.txt"):
        (tmp_path / name).write_text("needle\n")
    one = await search_lines(tmp_path, "needle", None, lambda path: path.suffix != ".env", 1)
    assert [match.path.name for match in one] == ["b.txt"]


async def test_the_search_ends_at_the_limit(tmp_path: Path) -> None:
    (tmp_path / "many.txt").write_text("needle\n" * 500_000)
    assert [match.number for match in await found(tmp_path, "needle", limit=3)] == [1, 2, 3]


@pytest.mark.parametrize("pattern", ["(", "a{99999999}"])
async def test_a_wrong_pattern_is_an_error_that_says_why(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(ToolError, match="ripgrep refused this search"):
        await found(tmp_path, pattern)


async def test_a_pattern_is_never_taken_for_an_option(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("--files\n")
    assert [match.text for match in await found(tmp_path, "--files")] == ["--files"]
