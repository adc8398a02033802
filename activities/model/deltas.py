"""Collects partial answers and sends them to watchers in bounded batches."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Final, Self

from activities.cancellation import cancel_and_wait
from activities.model.stream import Delta
from workflows.domain.errors import Unavailable

BATCH_INTERVAL: Final = 0.05  # seconds between batches
MAX_BATCH_CHARS: Final = 8 * 1024  # characters of a batch
UNWATCHED_PAUSE: Final = 0.5  # seconds of pause without a watcher
MAX_BACKLOG_CHARS: Final = (
    64 * MAX_BATCH_CHARS
)  # characters that wait at most while batches are slow; the oldest are dropped first


@dataclass(frozen=True, slots=True)
class DeltaBatch:
    """One attempt's deltas, in order; `number` counts its batches from 0, to show gaps."""

    attempt: str
    number: int
    deltas: tuple[Delta, ...]


class DeltaBatcher:
    """Hands deltas to `send` in batches: the first text at once, the next every 50 ms or 8 KB; `add` never waits.

    Deltas may be lost (the finished part is the truth): an unreachable store costs a batch, not the answer. Without a
    watcher (`watched`), they are collected for one that comes later.
    """

    def __init__(
        self,
        attempt: str,
        send: Callable[[DeltaBatch], Awaitable[None]],
        watched: Callable[[], Awaitable[bool]],
        *,
        interval: float = BATCH_INTERVAL,
        max_chars: int = MAX_BATCH_CHARS,
        max_backlog: int = MAX_BACKLOG_CHARS,
    ) -> None:
        self._attempt = attempt
        self._send = send
        self._watched = watched
        self._every = interval
        self._largest = max_chars
        self._backlog = max_backlog
        self._pending: deque[Delta] = deque()
        self._size = 0
        self._number = 0
        self._not_empty = asyncio.Event()
        self._batch_full = asyncio.Event()
        self._closed = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._pump = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Send the rest; after an error or a stop, do not wait for it."""
        if error is not None:
            await cancel_and_wait(self._pump)
            return
        self._closed.set()
        self._not_empty.set()
        self._batch_full.set()
        await self._pump

    def add(self, delta: Delta) -> None:
        """Joins adjacent deltas of one part, splits a huge one."""
        self._append(replace(delta, text=delta.text[: self._largest]))
        for start in range(self._largest, len(delta.text), self._largest):
            self._append(replace(delta, text=delta.text[start : start + self._largest], name=None))
        self._drop_oldest()
        self._not_empty.set()
        if self._size >= self._largest:
            self._batch_full.set()

    def _append(self, delta: Delta) -> None:
        self._size += len(delta.text)
        last = self._pending[-1] if self._pending else None
        if (
            last
            and (last.part, last.kind) == (delta.part, delta.kind)
            and len(last.text) + len(delta.text) <= self._largest
        ):
            self._pending[-1] = replace(last, text=last.text + delta.text, name=last.name or delta.name)
        else:
            self._pending.append(delta)

    def _drop_oldest(self) -> None:
        while self._size > self._backlog and len(self._pending) > 1:
            self._size -= len(self._pending.popleft().text)
            self._number += 1

    async def _run(self) -> None:
        while await self._wait_for_deltas():
            if await self._is_watched():
                batch = self._next_batch()
                with suppress(Unavailable):
                    await self._send(batch)
                if any(delta.text for delta in batch.deltas):
                    await _wait_at_most(self._batch_full, self._every)
            elif self._closed.is_set():
                return
            else:
                await _wait_at_most(self._closed, UNWATCHED_PAUSE)

    async def _is_watched(self) -> bool:
        try:
            return await self._watched()
        except Unavailable:
            return False

    async def _wait_for_deltas(self) -> bool:
        """Returns False after the last batch."""
        if not self._pending and self._closed.is_set():
            return False
        await self._not_empty.wait()
        return bool(self._pending)

    def _next_batch(self) -> DeltaBatch:
        taken: list[Delta] = []
        size = 0
        while self._pending and (not taken or size + len(self._pending[0].text) <= self._largest):
            taken.append(self._pending.popleft())
            size += len(taken[-1].text)
        self._size -= size
        batch = DeltaBatch(self._attempt, self._number, tuple(taken))
        self._number += 1
        if not self._pending and not self._closed.is_set():
            self._not_empty.clear()
        if self._size < self._largest and not self._closed.is_set():
            self._batch_full.clear()
        return batch


async def _wait_at_most(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
