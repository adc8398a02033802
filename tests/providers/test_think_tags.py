"""Reasoning in tags before a text is told apart, however its pieces come."""

import time

import pytest

from activities.model.port import ReasoningDelta, TextDelta
from activities.model.wires.chat import ThinkTags


def read(*pieces: str) -> tuple[str, str]:
    """The reasoning and the text."""
    tags = ThinkTags()
    found = [delta for piece in pieces for delta in tags.feed(piece)] + list(tags.end())
    kinds = (ReasoningDelta, TextDelta)
    reasoning, text = ("".join(each.text for each in found if isinstance(each, kind)) for kind in kinds)
    return reasoning, text


@pytest.mark.parametrize(
    "text", [" \n<think>a b</think>c", "\n \n", " <thin", "  text <think>no</think>", " <think>open</thi"]
)
def test_pieces_of_any_size_read_alike(text: str) -> None:
    assert read(*text) == read(text) and sum(map(len, read(text))) > 0


def test_a_stream_of_white_space_takes_time_in_proportion() -> None:
    pieces, begun = [" " * 50] * 40_000, time.process_time()
    assert read(*pieces) == ("", "".join(pieces))
    assert time.process_time() - begun < 2
