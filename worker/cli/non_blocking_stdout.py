"""Standard output through a thread: an unread terminal or pipe (Ctrl-S, a paused pager) blocks nothing."""

import asyncio
import io
import os
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final, Self, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_MUCH: Final = 2**16  # bytes; no event is rendered while more wait
_MOMENT: Final = 1.0  # seconds that leaving waits for a hanging terminal


class NonBlockingStdout:
    """Buffers output, and writes it in order in a thread.

    A thread, as O_NONBLOCK is a property of the terminal and would hit the shell, too. `changed` is set after each
    write, and after the last possible one.
    """

    def __init__(self, descriptor: int) -> None:
        self.changed = asyncio.Event()
        self._descriptor = descriptor
        self._waiting = bytearray()
        self._taken = asyncio.Event()
        self._thread = ThreadPoolExecutor(1)
        self._drain_timeout: float | None = None

    async def __aenter__(self) -> Self:
        self._work = asyncio.create_task(self._hand_on())
        self._work.add_done_callback(lambda _: self.changed.set())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._work.cancel()
        self._thread.shutdown(wait=False)  # its write may block for ever

    @property
    def idle(self) -> bool:
        return not self._waiting

    @property
    def congested(self) -> bool:
        """Whether much output waits. Raises OSError when the reader is gone."""
        self._check()
        return len(self._waiting) > _MUCH

    def enqueue(self, written: bytes) -> None:
        """Raises OSError when an earlier write has failed."""
        self._check()
        self._waiting += written
        self._taken.set()

    def limit_drain(self) -> None:
        """Let `drain` give up after a moment."""
        self._drain_timeout = _MOMENT

    async def drain(self) -> None:
        """Wait until everything is written. Raises OSError when a write fails."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._drain_timeout):
                while not self.idle:
                    self._check()
                    self.changed.clear()
                    await self.changed.wait()

    async def wait_until_broken(self) -> None:
        """Raise OSError once the reader is gone."""
        await asyncio.wait([self._work])
        self._check()

    def _check(self) -> None:
        if self._work.done() and not self._work.cancelled():
            self._work.result()

    async def _hand_on(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._taken.wait()
            self._taken.clear()
            while written := bytes(self._waiting[:_MUCH]):
                await loop.run_in_executor(self._thread, _write_all, self._descriptor, written)
                del self._waiting[: len(written)]
                self.changed.set()


class _RawStream(io.RawIOBase):
    """A file that writes into the buffer."""

    def __init__(self, stdout: NonBlockingStdout, descriptor: int) -> None:
        self._stdout = stdout
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def writable(self) -> bool:
        return True

    def write(self, written: "ReadableBuffer") -> int:
        taken = bytes(written)
        self._stdout.enqueue(taken)
        return len(taken)


@asynccontextmanager
async def redirect_stdout() -> AsyncIterator[NonBlockingStdout]:
    """Replace standard output, and standard error if both are one file, to keep their order.

    Raises OSError when a write fails.
    """
    before = sys.stdout, sys.stderr
    same = os.path.sameopenfile(*(stream.fileno() for stream in before))
    async with NonBlockingStdout(sys.stdout.fileno()) as stdout:
        sys.stdout, sys.stderr = (
            _wrap_stream(stdout, sys.stdout),
            _wrap_stream(stdout, sys.stderr) if same else sys.stderr,
        )
        try:
            yield stdout
            await stdout.drain()
        except Exception:  # earlier output comes before the error
            await stdout.drain()
            raise
        finally:
            sys.stdout, sys.stderr = before


def _wrap_stream(stdout: NonBlockingStdout, stream: TextIO) -> TextIO:
    written = io.BufferedWriter(_RawStream(stdout, stream.fileno()))
    return io.TextIOWrapper(written, encoding=stream.encoding, errors=stream.errors)


def _write_all(descriptor: int, written: bytes) -> None:
    while written:
        written = written[os.write(descriptor, written) :]
