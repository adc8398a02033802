"""Threads for what may never end: no pool's, and the process does not wait for them."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Final, TypeVar

from workflows.domain.errors import ConfigError

READ_TIMEOUT: Final = 30.0  # seconds
T = TypeVar("T")


def on_own_thread(work: Callable[[], T]) -> Future[T]:
    """What `work` returns or raises, for all who wait: one who no longer does ends it for nobody else."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, name="own", daemon=True).start()
    return future


async def read_in_time(file: str, read: Callable[[], T], timeout: float = READ_TIMEOUT) -> T:
    """What `read` returns. Its file may be on a file system that does not answer, or be a pipe.

    Raises ConfigError, which has the words for the `file`, after `timeout` seconds.
    """
    reading = asyncio.wrap_future(on_own_thread(read))
    done, _ = await asyncio.wait([reading], timeout=timeout)
    if not done:
        reading.cancel()
        raise ConfigError(
            f"{file} could not be read within {timeout:g} seconds: look whether its file system answers, and that it "
            "is no pipe."
        )
    return reading.result()
