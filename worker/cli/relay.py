"""Relay: what is written is handed on by a thread, so that a terminal or a pipe that is not read holds up nothing."""

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

_MUCH: Final = 2**16  # bytes that wait; whoever has so much to read is told nothing more for now
_MOMENT: Final = 1.0  # seconds for what is left when a person leaves, who need not wait for a terminal that hangs


class Relay:
    """Takes what is written at once, and hands it on in order, as fast as it is read.

    By a thread: that writing does not block is a property of the terminal, which is the shell's, too. `stirred` is set
    whenever something was handed on, and when nothing can be any more.
    """

    def __init__(self, descriptor: int) -> None:
        self.stirred = asyncio.Event()
        self._descriptor = descriptor
        self._waiting = bytearray()
        self._taken = asyncio.Event()
        self._thread = ThreadPoolExecutor(1)
        self._patience: float | None = None

    async def __aenter__(self) -> Self:
        self._work = asyncio.create_task(self._hand_on())
        self._work.add_done_callback(lambda _: self.stirred.set())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._work.cancel()
        self._thread.shutdown(wait=False)  # it may be in the middle of what is never read

    @property
    def idle(self) -> bool:
        """Whether everything was handed on."""
        return not self._waiting

    @property
    def behind(self) -> bool:
        """Whether much was taken that is not read yet. Raises OSError when nobody reads any more."""
        self._check()
        return len(self._waiting) > _MUCH

    def take(self, written: bytes) -> None:
        """Raises OSError when what was taken before could not be handed on."""
        self._check()
        self._waiting += written
        self._taken.set()

    def hurry(self) -> None:
        """A person leaves: what is not read within a moment of the end is left unread."""
        self._patience = _MOMENT

    async def drained(self) -> None:
        """Wait until everything was handed on. Raises OSError when that cannot be."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience):
                while not self.idle:
                    self._check()
                    self.stirred.clear()
                    await self.stirred.wait()

    async def broken(self) -> None:
        """Wait for the moment at which nobody reads any more. Raises OSError then."""
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
                await loop.run_in_executor(self._thread, _write, self._descriptor, written)
                del self._waiting[: len(written)]
                self.stirred.set()


class _Descriptor(io.RawIOBase):
    """A file whose writings the relay takes."""

    def __init__(self, relay: Relay, descriptor: int) -> None:
        self._relay = relay
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def writable(self) -> bool:
        return True

    def write(self, written: "ReadableBuffer") -> int:
        taken = bytes(written)
        self._relay.take(taken)
        return len(taken)


@asynccontextmanager
async def relayed() -> AsyncIterator[Relay]:
    """Have standard output go by a relay, and standard error, too, where that is the same: the order of both is kept.

    Raises OSError when what was written cannot be handed on.
    """
    before = sys.stdout, sys.stderr
    same = os.path.sameopenfile(*(stream.fileno() for stream in before))
    async with Relay(sys.stdout.fileno()) as relay:
        sys.stdout, sys.stderr = _file(relay, sys.stdout), _file(relay, sys.stderr) if same else sys.stderr
        try:
            yield relay
            await relay.drained()
        except Exception:  # what was told before it comes first
            await relay.drained()
            raise
        finally:
            sys.stdout, sys.stderr = before


def _file(relay: Relay, stream: TextIO) -> TextIO:
    written = io.BufferedWriter(_Descriptor(relay, stream.fileno()))
    return io.TextIOWrapper(written, encoding=stream.encoding, errors=stream.errors)


def _write(descriptor: int, written: bytes) -> None:
    while written:
        written = written[os.write(descriptor, written) :]
