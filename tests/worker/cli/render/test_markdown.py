"""Markdown of models on a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.cli.render.markdown import render_markdown, split_blocks
from worker.cli.render.wrap import display_width

HOSTILE = [
    "<script>alert(1)</script>",
    "<!-- hidden -->",
    "a &#x1b;[2J b",
    "&#8238;gpj",
    "[click](javascript:alert(1))",
    "[safe](http://evil.example/%E2%80%AE)",
    "![](http://evil.example/x.png)",
    "[x]: http://evil.example 'hidden'",
    "\\x1b]8;;http://x\\x07",
    "```sh rm -rf /\nls\n```",
]
PIECES = st.sampled_from(
    [
        "# ",
        "> ",
        "- ",
        "1. ",
        "```",
        "\n",
        "\n\n",
        "|",
        "---",
        "*",
        "_",
        "`",
        "[",
        "](",
        ")",
        "<b>",
        "    ",
        "世界",
        "word ",
        "\t",
    ]
)


@pytest.mark.parametrize("begin", ["> " * 12, "> " * 11 + "- ", "- " * 6, "1. > " * 4])
def test_what_is_nested_too_deeply_is_shown_as_it_is_written(begin: str) -> None:
    assert rows_of(f"{begin}rm -rf /\n\nafter") == [f"{begin}rm -rf /", "", "after"]


def rows_of(source: str, columns: int = 80) -> list[str]:
    return [str(row) for row in render_markdown(source, columns)]


def test_headings_emphasis_lists_and_code_read_well() -> None:
    source = "# Plan\n\nI mend **two** things:\n\n1. `slugify`\n2. the *tests*\n\n```python\nreturn 1\n```\n- a\n  - b"

    assert rows_of(source) == [
        "Plan",
        "",
        "I mend two things:",
        "",
        " 1 slugify",
        " 2 the tests",
        "",
        "  return 1",
        "",
        " • a",
        "    • b",
    ]


def test_line_breaks_of_the_model_stay() -> None:
    assert rows_of("one\ntwo") == ["one", "two"]


def test_nothing_that_was_written_is_hidden_and_nothing_can_be_clicked() -> None:
    shown = [" ".join(rows_of(source)) for source in HOSTILE]

    assert shown[:2] == HOSTILE[:2]
    assert "&#x1b;[2J" in shown[2] and "&#8238;" in shown[3]
    assert "javascript:alert(1)" in shown[4] and "evil.example" in shown[5] and "\u202e" not in shown[5]
    assert "http://evil.example/x.png" in shown[6] and "http://evil.example" in shown[7]
    assert rows_of(HOSTILE[-1]) == ["  ```sh rm -rf /", "  ls"]
    assert not any("\x1b]8" in "".join(map(str, render_markdown(source, 80))) for source in HOSTILE)


def test_wide_letters_and_long_words_keep_to_the_columns() -> None:
    shown = rows_of(f"{'世界' * 60}\n\n{'x' * 300}\n\n| a | b |\n|---|---|\n| {'wide ' * 40} | 世 |", 40)

    assert max(map(display_width, shown)) <= 40


@given(st.lists(PIECES, max_size=40).map("".join), st.integers(10, 120))
def test_any_text_of_a_model_becomes_rows_without_controls(source: str, columns: int) -> None:
    for row in render_markdown(source, columns):
        assert str(row).isprintable()


@given(st.lists(PIECES, max_size=40).map("".join))
def test_blocks_are_the_whole_text(source: str) -> None:
    assert "\n".join(split_blocks(source)) == source


def test_a_block_is_finished_when_the_next_one_has_begun() -> None:
    source = "# Plan\n\ntext\n- a\n- b\n\n```\ncode\n\nmore\n```\nlast"

    assert split_blocks(source) == ["# Plan\n", "text", "- a\n- b\n", "```\ncode\n\nmore\n```", "last"]
    for end in range(len(source)):
        begun = split_blocks(source[:end])
        assert split_blocks(source)[: len(begun) - 1] == begun[:-1]
