"""Long texts with their middle cut out."""

import re

import pytest

from worker.cli.render.collapse import COMMAND_LIMIT, CollapseLimit, collapse


def test_a_long_command_is_cut_in_the_middle_only_and_says_how_much_is_hidden() -> None:
    text = "\n".join(["begin", *(f"line {n}" for n in range(98)), "rm -rf /"])

    shown = collapse(text, COMMAND_LIMIT)

    lines = shown.text.split("\n")
    assert shown.hidden and (lines[0], lines[-1]) == ("begin", "rm -rf /")
    assert lines[20].startswith("[… 70 lines hidden, ")


def test_padding_cannot_push_the_payload_out_of_view() -> None:
    shown = collapse("true " + " " * 10_000 + "; rm -rf /", COMMAND_LIMIT)

    assert shown.hidden and shown.text.endswith("; rm -rf /")
    assert "[… 8,016 characters hidden …]" in shown.text


def test_what_is_hidden_of_many_long_lines_is_counted_whole() -> None:
    text = "\n".join(f"line {number} {'x' * 100}" for number in range(60))

    shown = collapse(text, COMMAND_LIMIT)

    said = re.search(r" \[… ([\d,]+) characters and (\d+) line breaks hidden …\] ", shown.text)
    assert said is not None and shown.hidden
    hidden = int(said[1].replace(",", "")) + int(said[2])
    assert len(shown.text) - len(said[0]) == COMMAND_LIMIT.characters - 1 == len(text) - hidden


@pytest.mark.parametrize("text", ["short", "", "x" * 10, "a\nb\nc"])
def test_what_keeps_to_the_limit_is_shown_whole(text: str) -> None:
    assert collapse(text, CollapseLimit(lines=3, characters=10)).text == text
    assert not collapse(text, CollapseLimit(lines=3, characters=10)).hidden
