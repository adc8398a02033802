"""Sessions are read page by page: memory does not grow with their length."""

import gc
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import NamedTuple

from bench.filler import Filler
from tests.worker.test_client import alone as alone
from worker.opencode.export import Exporter
from worker.session_client import SessionClient
from workflows.domain.events.turns import TurnEnded
from workflows.domain.ids import SessionId
from workflows.domain.views.events import EventWithContents


class Held(NamedTuple):
    read: int
    bytes: int


SHORT, LONG = 100, 220  # answers, each with 4 KB of output; the short one nearly fills a page


async def exported(client: SessionClient, session: SessionId) -> int:
    exporter = Exporter(await client.sessions.get(session), "/")
    info = exporter.info(await client.sessions.origin(session), await client.sessions.totals(session), "project", "1")
    return sum([len(piece) async for piece in exporter.document(info, client.records.messages(session))])


async def verified(client: SessionClient, session: SessionId) -> int:
    return (await client.records.verify(session)).events


async def logged(client: SessionClient, session: SessionId) -> int:
    return await counted(client.records.log(session))


async def watched(client: SessionClient, session: SessionId) -> int:
    seen = 0
    async with aclosing(client.records.watch(session, with_subagents=True)) as pieces:
        async for piece in pieces:
            seen += 1
            if isinstance(piece, EventWithContents) and isinstance(piece.record.event, TurnEnded):
                return seen
    raise AssertionError("watching does not end")


async def counted(pieces: AsyncIterator[object]) -> int:
    return sum([1 async for _ in pieces])


async def held(way: Callable[[SessionClient, SessionId], Awaitable[int]], client: SessionClient, of: SessionId) -> Held:
    """How much was read, and the peak of bytes held meanwhile."""
    gc.collect()
    tracemalloc.start()
    try:
        return Held(await way(client, of), tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


async def test_reading_holds_no_more_of_a_long_session_than_of_a_short_one(
    alone: SessionClient, tmp_path: Path
) -> None:
    filler = Filler(alone.database, tmp_path)
    short, long = await filler.long(SHORT, 4000), await filler.long(LONG, 4000)
    for way in (exported, verified, logged, watched):
        little, much = await held(way, alone, short), await held(way, alone, long)
        assert much.read > 2 * little.read
        assert much.bytes < 1.4 * little.bytes, way.__name__
    assert (await alone.records.verify(long)).problem is None
