"""Streams of events: what came before a broken event counts."""

from collections.abc import AsyncIterator, Callable

import pytest

from activities.model.failures import ModelError
from activities.model.wires.sse import EventSplitter, LineSplitter, Splitter, json_objects

EVENTS = b'data: {"a": 1}\n\ndata: {"a": 2}\n\ndata: garbage\n\n'
LINES = b'{"a": 1}\n{"a": 2}\r\n \ngarbage\n'


@pytest.mark.parametrize(("splitter", "sent"), [(EventSplitter, EVENTS), (LineSplitter, LINES)])
@pytest.mark.parametrize("reads", [1, 2, 7])
async def test_events_before_a_broken_one_are_a_part_of_the_answer(
    splitter: Callable[[str], Splitter], sent: bytes, reads: int
) -> None:
    async def received() -> AsyncIterator[bytes]:
        size = len(sent) // reads + 1
        for start in range(0, len(sent), size):
            yield sent[start : start + size]

    found = []
    with pytest.raises(ModelError, match="no piece of an answer"):
        async for objects in json_objects("own", splitter("own"), received()):
            found += objects
    assert found == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize("splitter", [EventSplitter, LineSplitter])
def test_a_line_that_does_not_end_is_no_piece_of_an_answer(splitter: Callable[[str], Splitter]) -> None:
    splitting = splitter("own")
    with pytest.raises(ModelError, match="a line of more than 8 MB"):
        for _ in range(9):
            splitting.feed(b"x" * 2**20)
