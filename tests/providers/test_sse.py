"""Streams of events: what came before a broken event counts."""

from collections.abc import AsyncIterator

import pytest

from activities.model.failures import ModelError
from activities.model.wires.sse import json_objects


@pytest.mark.parametrize("reads", [1, 2])
async def test_events_before_a_broken_one_are_a_part_of_the_answer(reads: int) -> None:
    sent = b'data: {"a": 1}\n\ndata: {"a": 2}\n\ndata: garbage\n\n'

    async def received() -> AsyncIterator[bytes]:
        size = len(sent) // reads + 1
        for start in range(0, len(sent), size):
            yield sent[start : start + size]

    found = []
    with pytest.raises(ModelError, match="no piece of an answer"):
        async for objects in json_objects("own", received()):
            found += objects
    assert found == [{"a": 1}, {"a": 2}]
