"""The transport of a local server: its process, and a line for each message.

The SDK's own takes lines of any length, in a time that grows with the square of it, and starts with the worker's
environment.
"""

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

import anyio
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from activities.cancellation import cancel_and_wait
from activities.child_process import start_child
from activities.mcp.address import Program

MAX_MESSAGE: Final = 16 * 1024 * 1024  # bytes of a line; a larger one ends the connection
_GRACE: Final = 2.0  # seconds between closing its input, SIGTERM and SIGKILL (the protocol's order)
_KEPT_LINES: Final = 20  # of what it writes to its error output
_LINE_LENGTH: Final = 500  # characters of such a line


class ErrorLines:
    """The last lines that a server has written beside the protocol."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)

    def add(self, line: bytes) -> None:
        if text := line.decode(errors="replace").strip():
            self._lines.append(text[:_LINE_LENGTH])

    @property
    def last(self) -> str:
        return self._lines[-1] if self._lines else ""


@asynccontextmanager
async def run_server(
    program: Program, errors: ErrorLines, ended: Callable[[], None]
) -> AsyncGenerator[TransportStreams]:
    """Start it in a process group of its own, and end it with its children at the end. `ended`: called when it writes
    no more. Raises OSError."""
    process = await start_child(
        *program.argv,
        directory=program.directory,
        environment=program.environment,
        stdin=PIPE,
        stderr=PIPE,
        limit=MAX_MESSAGE,
    )
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)

    async def receive() -> None:
        assert process.stdout is not None
        async with incoming:
            try:
                while line := await process.stdout.readline():
                    try:
                        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                    except ValueError:
                        errors.add(line)  # a banner, or what a program of the server has printed
                        continue
                    await incoming.send(SessionMessage(message))
            except ValueError:
                errors.add(f"It has sent a message of more than {MAX_MESSAGE:,} bytes.".encode())
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                pass  # nobody listens any more
            finally:
                ended()

    async def send() -> None:
        assert process.stdin is not None
        async with outgoing:
            async for message in outgoing:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                with suppress(ConnectionError):  # its end is noticed by who reads
                    process.stdin.write(text.encode() + b"\n")
                    await process.stdin.drain()

    tasks = [asyncio.create_task(work) for work in (receive(), send(), _keep_errors(process, errors))]
    try:
        yield read, write
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)
            await cancel_and_wait(*tasks)
            for stream in (read, write, incoming, outgoing):
                stream.close()


async def _keep_errors(process: Process, errors: ErrorLines) -> None:
    assert process.stderr is not None
    while True:
        try:
            if not (line := await process.stderr.readline()):
                return
        except ValueError:  # a line without an end
            continue
        errors.add(line)


async def _end(process: Process) -> None:
    """Close its input, then SIGTERM, then SIGKILL to its group, which outlives it if a child of it does."""
    assert process.stdin is not None
    process.stdin.close()
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE):
                await process.wait()
                break
        _signal_group(process, number)
    _signal_group(process, signal.SIGKILL)
    await process.wait()


def _signal_group(process: Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
