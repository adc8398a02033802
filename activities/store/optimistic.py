"""Optimistic writes: one exchange if the session is as last seen, else one that reads first.

Saves three of eight round trips per step. The database compares the session's version under its lock.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Protocol, TypeVar

from activities.store.journal import Journal, SessionVersion
from workflows.domain.errors import VersionConflict

T = TypeVar("T")


class OpenJournal(Protocol):
    """Opens a session's journal; fails with VersionConflict unless the session is as `seen`."""

    def __call__(self, *, seen: SessionVersion | None = None) -> AbstractAsyncContextManager[Journal]: ...


async def write_optimistically(
    open_journal: OpenJournal,
    seen: SessionVersion | None,
    as_seen: Callable[[Journal], Awaitable[T]],
    read_first: Callable[[Journal], Awaitable[T]],
) -> tuple[T, SessionVersion | None]:
    """Write by `as_seen` if nothing has changed since, else by `read_first`; the former's version of the session."""
    if seen is not None:
        with suppress(VersionConflict):
            async with open_journal(seen=seen) as journal:
                written = await as_seen(journal)
            return written, journal.version_after
    async with open_journal() as journal:
        return await read_first(journal), None
