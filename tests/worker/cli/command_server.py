"""A process that has imported what commands need, and forks `holdfast` in milliseconds.

The imports are most of what a short command costs, and tests run hundreds of them. A forked command is like any
other: a process with its own arguments, directory, environment and pipes that runs `worker.cli.main`. Each order is a
packet of JSON with the descriptors of the three streams and of a pipe for two lines: the command's pid, and its exit
code.
"""

import asyncio
import atexit
import gc
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import threading
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple

_LARGEST: Final = 1 << 20  # bytes of an order
_READ_AT_START: Final = ("LANG", "LC_", "PYTHON")  # by the interpreter: a server has one value of each


class CommandOrder(NamedTuple):
    """A wanted command."""

    arguments: tuple[str, ...]
    directory: str
    environment: Mapping[str, str]


def main() -> None:
    """Fork commands until the orders end."""
    orders = socket.socket(fileno=int(sys.argv[1]))
    for package in ("worker.cli", "worker.cli.commands", "worker.cli.render"):
        for found in pkgutil.iter_modules(import_module(package).__path__, f"{package}."):
            import_module(found.name)
    for module in ("worker.client", "worker.stack.up", "worker.stack.down"):
        import_module(module)
    gc.freeze()
    assert threading.active_count() == 1, "a process with threads cannot be forked safely"
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the supervisors
    while True:
        text, descriptors, _, _ = socket.recv_fds(orders, _LARGEST, 4)
        if not text:
            return
        if os.fork() == 0:
            orders.close()
            _supervise(CommandOrder(*json.loads(text)), *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _supervise(order: CommandOrder, stdin: int, stdout: int, stderr: int, status: int) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    command = os.fork()
    if command == 0:
        os.close(status)
        _become_command(order, (stdin, stdout, stderr))
    for stream in (stdin, stdout, stderr, 0, 1, 2):
        os.close(stream)  # their readers wait for the last of them
    os.write(status, b"%d\n" % command)
    os.write(status, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(command, 0)[1]))
    os._exit(0)


def _become_command(order: CommandOrder, streams: tuple[int, ...]) -> None:
    """Never returns: a command ends by itself."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding=sys.stderr.encoding, errors=sys.stderr.errors)
    os.chdir(order.directory)
    os.environ.clear()
    os.environ.update(order.environment)
    sys.argv = ["holdfast", *order.arguments]
    import_module("worker.cli.entry_point").main()


@cache
def _orders(read_at_start: frozenset[tuple[str, str]]) -> socket.socket:
    """Our end of a server that ends with this process."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-P", "-m", __name__, str(its.fileno())]
    root = Path(__file__).parents[3]
    environment = dict(read_at_start) | {"PYTHONPATH": str(root)}
    server = subprocess.Popen(command, env=environment, stdin=PIPE, stdout=PIPE, pass_fds=[its.fileno()])
    its.close()

    def end() -> None:
        ours.close()
        server.communicate()

    atexit.register(end)
    return ours


async def run_forked(
    arguments: tuple[str, ...], directory: Path, environment: Mapping[str, str], typed: bytes, out: int
) -> tuple[int, bytes, bytes]:
    """Run `holdfast` to its end, or kill it when cancelled; its exit code, and what it wrote to its pipes."""
    order = json.dumps(CommandOrder(arguments, str(directory), environment))  # it keeps bytes that are no UTF-8
    own = frozenset((name, value) for name, value in environment.items() if name.startswith(_READ_AT_START))
    stdin, typing = os.pipe()
    said, stdout = os.pipe() if out == PIPE else (None, os.dup(out))
    (failed, stderr), (told, status) = os.pipe(), os.pipe()
    its = [stdin, stdout, stderr, status]
    socket.send_fds(_orders(own), [order.encode()], its)
    for descriptor in its:
        os.close(descriptor)
    async with _reading(told) as lines:
        pid = int(await lines.readline())
        try:
            writer, _ = await asyncio.get_running_loop().connect_write_pipe(
                asyncio.BaseProtocol, os.fdopen(typing, "wb", 0)
            )
            writer.write(typed)
            writer.write_eof()
            outputs = await asyncio.gather(_read(said), _read(failed))
            return int(await lines.readline()), *outputs
        except asyncio.CancelledError:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            raise


async def _read(descriptor: int | None) -> bytes:
    if descriptor is None:
        return b""
    async with _reading(descriptor) as stream:
        return await stream.read()


@asynccontextmanager
async def _reading(descriptor: int) -> AsyncIterator[asyncio.StreamReader]:
    stream = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    pipe = os.fdopen(descriptor, "rb", 0)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), pipe)
    try:
        yield stream
    finally:
        transport.close()


if __name__ == "__main__":
    main()
