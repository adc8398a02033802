"""Half answers on their way to watchers: collected, and handed on in bounded batches."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Final, Self

from activities.cancelling import ended
from activities.model.stream import Delta
from workflows.domain.errors import Unavailable

EVERY: Final = 0.05  # seconds between two batches
LARGEST: Final = 8 * 1024  # characters of a batch
UNWATCHED: Final = 0.5  # seconds of pause while nobody watches
BACKLOG: Final = 64 * LARGEST  # characters that wait at most while batches are slow; the oldest are lost first


@dataclass(frozen=True, slots=True)
class Batch:
    """Deltas of one attempt, in order; `number` counts its batches from 0, so that a gap shows."""

    attempt: str
    number: int
    deltas: tuple[Delta, ...]


class DeltaBatcher:
    """Hands deltas to `send` in batches, every 50 ms or 8 KB; `add` never waits.

    Use it as a context: its end sends what is left. Deltas may be lost (the finished part is the truth), so a
    store that cannot be reached costs a batch and not the answer. While nobody watches (`watched`), they are only
    collected: who comes in the middle of an answer gets its beginning, too.
    """

    def __init__(
        self,
        attempt: str,
        send: Callable[[Batch], Awaitable[None]],
        watched: Callable[[], Awaitable[bool]],
        *,
        every: float = EVERY,
        largest: int = LARGEST,
        backlog: int = BACKLOG,
    ) -> None:
        self._attempt = attempt
        self._send = send
        self._watched = watched
        self._every = every
        self._largest = largest
        self._backlog = backlog
        self._waiting: deque[Delta] = deque()
        self._size = 0
        self._number = 0
        self._some = asyncio.Event()
        self._enough = asyncio.Event()
        self._closed = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._pump = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Send what is left; after an error or a stop there is nobody to wait for."""
        if error is not None:
            await ended(self._pump)
            return
        self._closed.set()
        self._some.set()
        self._enough.set()
        await self._pump

    def add(self, delta: Delta) -> None:
        """Take a delta; adjacent ones of the same part become one, a huge one becomes several."""
        self._join(replace(delta, text=delta.text[: self._largest]))
        for start in range(self._largest, len(delta.text), self._largest):
            self._join(replace(delta, text=delta.text[start : start + self._largest], name=None))
        self._drop_oldest()
        self._some.set()
        if self._size >= self._largest:
            self._enough.set()

    def _join(self, delta: Delta) -> None:
        self._size += len(delta.text)
        last = self._waiting[-1] if self._waiting else None
        if last and last.part == delta.part and len(last.text) + len(delta.text) <= self._largest:
            self._waiting[-1] = replace(last, text=last.text + delta.text, name=last.name or delta.name)
        else:
            self._waiting.append(delta)

    def _drop_oldest(self) -> None:
        while self._size > self._backlog and len(self._waiting) > 1:
            self._size -= len(self._waiting.popleft().text)
            self._number += 1

    async def _run(self) -> None:
        while await self._due():
            if await self._seen():
                batch = self._take()
                with suppress(Unavailable):
                    await self._send(batch)
            elif self._closed.is_set():
                return
            else:
                await _either(self._closed, UNWATCHED)

    async def _seen(self) -> bool:
        try:
            return await self._watched()
        except Unavailable:
            return False

    async def _due(self) -> bool:
        """Wait until a batch is due; False when the last one is sent."""
        if not self._waiting and self._closed.is_set():
            return False
        await self._some.wait()
        await _either(self._enough, self._every)
        return bool(self._waiting)

    def _take(self) -> Batch:
        taken: list[Delta] = []
        size = 0
        while self._waiting and (not taken or size + len(self._waiting[0].text) <= self._largest):
            taken.append(self._waiting.popleft())
            size += len(taken[-1].text)
        self._size -= size
        batch = Batch(self._attempt, self._number, tuple(taken))
        self._number += 1
        if not self._waiting and not self._closed.is_set():
            self._some.clear()
        if self._size < self._largest and not self._closed.is_set():
            self._enough.clear()
        return batch


async def _either(event: asyncio.Event, seconds: float) -> None:
    """Wait for the event, or so long."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
