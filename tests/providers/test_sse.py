"""Streams of events: what came before a broken event counts."""

from collections.abc import Callable

import pytest

from activities.model.failures import ModelError
from activities.model.wires.sse import EventSplitter, LineSplitter, Splitter

EVENTS = b'data: {"a": 1}\n\ndata: {"a": 2}\n\ndata: garbage\n\n'
LINES = b'{"a": 1}\n{"a": 2}\r\n \ngarbage\n'


@pytest.mark.parametrize(("splitter", "sent"), [(EventSplitter, EVENTS), (LineSplitter, LINES)])
@pytest.mark.parametrize("reads", [1, 2, 7])
def test_events_before_a_broken_one_are_a_part_of_the_answer(
    splitter: Callable[[str], Splitter], sent: bytes, reads: int
) -> None:
    splitting, size = splitter("own"), len(sent) // reads + 1
    found = []
    with pytest.raises(ModelError, match="no piece of an answer"):
        for start in range(0, len(sent), size):
            for event in splitting.feed(sent[start : start + size]):
                found.append(event)
    assert found == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize("splitter", [EventSplitter, LineSplitter])
def test_a_line_that_does_not_end_is_no_piece_of_an_answer(splitter: Callable[[str], Splitter]) -> None:
    splitting = splitter("own")
    with pytest.raises(ModelError, match="a line of more than 8 MB"):
        for _ in range(9):
            splitting.feed(b"x" * 2**20)
