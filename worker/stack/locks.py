"""Locks between processes: the kernel lets go of them when their holder dies, however it dies."""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

_PAUSE: Final = 0.05  # seconds between two tries: a thread that blocks in flock could not be cancelled


def acquire(path: Path) -> int | None:
    """Take the lock at `path` if it is free: an open file descriptor that holds it until it is closed, or None.

    A child that inherits the descriptor holds the lock too, for as long as it lives. A directory that is not there is
    made, for its owner only.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def free(path: Path) -> bool:
    """Whether nobody holds the lock at `path`, which need not be there."""
    if not path.exists():
        return True
    descriptor = acquire(path)
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is not None


@asynccontextmanager
async def held(path: Path, waiting: Callable[[], None] = lambda: None) -> AsyncIterator[int]:
    """Hold the lock at `path`; `waiting` is called once when somebody else has it. Yields its descriptor."""
    descriptor = acquire(path)
    if descriptor is None:
        waiting()
    while descriptor is None:
        await asyncio.sleep(_PAUSE)
        descriptor = acquire(path)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
