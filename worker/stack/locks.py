"""Locks between processes; the kernel releases a dead holder's."""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

_PAUSE: Final = 0.05  # seconds: a thread blocked in flock could not be cancelled


def try_acquire(path: Path) -> int | None:
    """Returns a descriptor that holds the lock until closed, also by a child that inherits it; None: not free."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def is_free(path: Path) -> bool:
    """The file need not exist."""
    if not path.exists():
        return True
    descriptor = try_acquire(path)
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is not None


@asynccontextmanager
async def hold(path: Path, on_wait: Callable[[], None] = lambda: None) -> AsyncIterator[int]:
    """Yields the descriptor; calls `on_wait` once if another holds the lock."""
    descriptor = try_acquire(path)
    if descriptor is None:
        on_wait()
    while descriptor is None:
        await asyncio.sleep(_PAUSE)
        descriptor = try_acquire(path)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
