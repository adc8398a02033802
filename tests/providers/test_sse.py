"""Streams of events: what came before a broken event counts."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from activities.model.failures import Retry, classify
from activities.model.wires.sse import EventSplitter, LineSplitter, Splitter
from workflows.domain.errors import ModelError

EVENTS = b'data: {"a": 1}\n\ndata: {"a": 2}\n\ndata: garbage\n\n'
LINES = b'{"a": 1}\n{"a": 2}\r\n \ngarbage\n'


@pytest.mark.parametrize(("splitter", "sent"), [(EventSplitter, EVENTS), (LineSplitter, LINES)])
@pytest.mark.parametrize("reads", [1, 2, 7])
def test_events_before_a_broken_one_are_a_part_of_the_answer(
    splitter: Callable[[str], Splitter], sent: bytes, reads: int
) -> None:
    found: list[Any] = []
    with pytest.raises(ModelError, match="not part of an answer"):
        found.extend(_split(splitter("own"), sent, len(sent) // reads + 1))
    assert found == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_end_in_three_ways_and_the_last_event_needs_no_end(end: bytes, size: int) -> None:
    lines = (b'\xef\xbb\xbfdata: {"a": 1}', b"", b": alive", b"", b"data: null", b"", b'data: {"a":', b"data: 2}")
    splitter = EventSplitter("own")
    assert [*_split(splitter, end.join(lines), size), *splitter.close()] == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize("splitter", [EventSplitter, LineSplitter])
def test_an_event_that_the_end_of_the_stream_cuts_is_none(splitter: Callable[[str], Splitter]) -> None:
    splitting = splitter("own")
    assert [*splitting.feed(b'data: {"a": '), *splitting.close()] == []


def test_nothing_comes_behind_the_last_event_of_a_stream() -> None:
    splitter = EventSplitter("own")
    assert [*splitter.feed(b'data: {"a": 1}\n\ndata: [DONE]\n\ndata: garbage\n\n')] == [{"a": 1}]
    assert splitter.ended


def test_an_error_may_be_a_field_of_its_own() -> None:
    """As llama.cpp's was."""
    splitter = EventSplitter("own")
    assert [*splitter.feed(b'error: {"code": 400}\n\ndata: [DONE]\n\n')] == [{"error": {"code": 400}}]


def test_what_is_nested_too_deeply_is_no_piece_of_an_answer() -> None:
    with pytest.raises(ModelError, match="not part of an answer") as caught:
        next(EventSplitter("own").feed(b"data: " + b"[" * 100_000 + b"\n\n"))
    assert isinstance(classify(caught.value.failure), Retry)


@pytest.mark.parametrize("splitter", [EventSplitter, LineSplitter])
def test_a_line_that_does_not_end_is_no_piece_of_an_answer(splitter: Callable[[str], Splitter]) -> None:
    splitting = splitter("own")
    with pytest.raises(ModelError, match="a line of more than 8 MB"):
        for _ in range(9):
            splitting.feed(b"x" * 2**20)


def _split(splitter: Splitter, sent: bytes, size: int) -> Iterator[dict[str, Any]]:
    for start in range(0, len(sent), size):
        yield from splitter.feed(sent[start : start + size])
