"""Batches of deltas."""

import asyncio

import pytest

from activities.model.deltas import DeltaBatch, DeltaBatcher
from activities.model.stream import Delta, PartKind
from workflows.domain.errors import Unavailable
from workflows.domain.ids import PartId

NEVER = 3600.0


class Watcher:
    """Gets batches; `open`: whether it takes them, `got`: one has come."""

    def __init__(self) -> None:
        self.batches: list[DeltaBatch] = []
        self.open = asyncio.Event()
        self.open.set()
        self.got = asyncio.Event()
        self.came = asyncio.Event()

    async def send(self, batch: DeltaBatch) -> None:
        self.came.set()
        await self.open.wait()
        self.batches.append(batch)
        self.got.set()

    @property
    def text(self) -> str:
        return "".join(delta.text for batch in self.batches for delta in batch.deltas)


async def test_what_is_left_is_sent_at_the_end_in_one_batch() -> None:
    watcher = Watcher()

    async with DeltaBatcher("attempt", watcher.send, always, interval=NEVER) as batcher:
        for word in ("a", "b", "c"):
            batcher.add(text(word))

    assert watcher.batches == [DeltaBatch("attempt", 0, (text("abc"),))]


async def test_the_first_delta_waits_for_no_batch_and_the_next_ones_do() -> None:
    watcher = Watcher()

    async with DeltaBatcher("attempt", watcher.send, always, interval=NEVER) as batcher:
        batcher.add(text("a"))
        await watcher.got.wait()
        for word in ("b", "c"):
            batcher.add(text(word))
            await asyncio.sleep(0)

    assert [batch.deltas for batch in watcher.batches] == [(text("a"),), (text("bc"),)]


async def test_a_sign_without_text_delays_no_text() -> None:
    watcher, sign = Watcher(), Delta(None, PartKind.REASONING, "")

    async with DeltaBatcher("attempt", watcher.send, always, interval=NEVER) as batcher:
        batcher.add(sign)
        await watcher.got.wait()
        watcher.got.clear()
        batcher.add(text("a"))
        await watcher.got.wait()
        batcher.add(text("b"))
        batcher.add(text("c"))

    assert [batch.deltas for batch in watcher.batches] == [(sign,), (text("a"),), (text("bc"),)]


async def test_thinking_of_which_nothing_is_shown_does_not_become_text() -> None:
    watcher, thinking = Watcher(), Delta(None, PartKind.REASONING, "")

    async with DeltaBatcher("attempt", watcher.send, always, interval=NEVER) as batcher:
        batcher.add(thinking)
        batcher.add(text("a"))

    assert watcher.batches[0].deltas == (thinking, text("a"))


async def test_a_batch_is_sent_when_its_time_has_come() -> None:
    watcher = Watcher()

    async with DeltaBatcher("attempt", watcher.send, always, interval=0) as batcher:
        batcher.add(text("a"))
        await watcher.got.wait()
        assert watcher.text == "a"


async def test_a_batch_is_sent_when_it_is_large_enough() -> None:
    watcher = Watcher()

    async with DeltaBatcher("attempt", watcher.send, always, interval=NEVER, max_chars=4) as batcher:
        batcher.add(text("abcd"))
        await watcher.got.wait()
        assert watcher.text == "abcd"


async def test_no_batch_is_larger_than_allowed_and_nothing_is_lost() -> None:
    watcher = Watcher()

    async with DeltaBatcher("attempt", watcher.send, always, interval=NEVER, max_chars=4) as batcher:
        batcher.add(text("0123456789"))
        batcher.add(text("x", part=1))

    sizes = [sum(len(delta.text) for delta in batch.deltas) for batch in watcher.batches]
    assert (watcher.text, max(sizes)) == ("0123456789x", 4)


async def test_a_slow_watcher_delays_no_other_and_loses_the_oldest() -> None:
    watcher = Watcher()
    watcher.open.clear()

    async with DeltaBatcher("attempt", watcher.send, always, interval=0, max_chars=2, max_backlog=4) as batcher:
        batcher.add(text("aa"))
        await watcher.came.wait()
        for pair in ("bb", "cc", "dd"):
            batcher.add(text(pair))
        watcher.open.set()

    assert watcher.text == "aaccdd"
    assert [batch.number for batch in watcher.batches] == [0, 2, 3]


async def test_a_store_that_cannot_be_reached_costs_a_batch_only() -> None:
    watcher, tries = Watcher(), iter([True, False])

    async def send(batch: DeltaBatch) -> None:
        if next(tries):
            raise Unavailable("no database")
        await watcher.send(batch)

    async with DeltaBatcher("attempt", send, always, interval=NEVER, max_chars=1) as batcher:
        batcher.add(text("a"))
        batcher.add(text("b", part=1))

    assert watcher.text == "b"


async def test_a_mistake_of_the_receiver_is_not_hidden() -> None:
    async def send(_: DeltaBatch) -> None:
        raise ValueError("a mistake")

    with pytest.raises(ValueError, match="a mistake"):
        async with DeltaBatcher("attempt", send, always) as batcher:
            batcher.add(text("a"))


async def test_a_failed_answer_sends_nothing_more() -> None:
    watcher = Watcher()

    with pytest.raises(LookupError):
        async with DeltaBatcher("attempt", watcher.send, always, interval=NEVER) as batcher:
            batcher.add(text("a"))
            raise LookupError

    assert watcher.batches == []


async def test_deltas_of_different_parts_stay_apart_and_the_name_of_a_call_is_kept() -> None:
    watcher = Watcher()
    opening, rest = Delta(PartId("prt_1"), PartKind.CALL, "", "read"), Delta(PartId("prt_1"), PartKind.CALL, "{}")

    async with DeltaBatcher("attempt", watcher.send, always, interval=NEVER) as batcher:
        for delta in (text("a"), opening, rest):
            batcher.add(delta)

    assert watcher.batches[0].deltas == (text("a"), Delta(PartId("prt_1"), PartKind.CALL, "{}", "read"))


async def test_deltas_without_a_watcher_are_collected_for_the_next_one() -> None:
    watcher, watched, asked = Watcher(), asyncio.Event(), asyncio.Event()

    async def there() -> bool:
        asked.set()
        return watched.is_set()

    async with DeltaBatcher("attempt", watcher.send, there, interval=0) as batcher:
        batcher.add(text("a"))
        await asked.wait()
        batcher.add(text("b"))
        assert watcher.batches == []
        watched.set()

    assert watcher.text == "ab"


async def test_unwatched_deltas_are_dropped_at_the_end() -> None:
    watcher = Watcher()

    async def never() -> bool:
        return False

    async with DeltaBatcher("attempt", watcher.send, never, interval=NEVER) as batcher:
        batcher.add(text("a"))

    assert watcher.batches == []


async def always() -> bool:
    return True


def text(content: str, part: int = 0) -> Delta:
    return Delta(PartId(f"prt_{part}"), PartKind.TEXT, content)
