"""Real servers of tools, as programs and over HTTP."""

import asyncio
import gc
import os
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from activities.credentials.logins import Logins
from activities.mcp.address import ServerAddress
from activities.mcp.connection import Connection
from activities.mcp.connections import McpConnections
from activities.redact import Redactor
from workflows.domain.config.mcp_settings import McpServer

SERVERS = Path(__file__).parents[2] / "mcp_servers"
ENVIRONMENT = (("HOME", "/nonexistent"), ("PATH", os.environ["PATH"]))


class Servers:
    """Starts servers, and connects to them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.logins = Logins(folder / "logins.json")
        redact = Redactor(lambda: ["s3cret-token-1"]).text
        self.connections = McpConnections({"SECRET": "s3cret-token-1"}, self.logins.path, redact)
        self.stack = AsyncExitStack()

    def local(self, *arguments: str, program: str = "everyday.py", **settings: object) -> Connection:
        """A program of tests/mcp_servers, or another one."""
        file = SERVERS / program
        argv = (sys.executable, str(file), *arguments) if file.exists() else (program, *arguments)
        limit = float(str(settings.pop("limit", 10)))
        protocol = settings.pop("protocol", None)
        address = ServerAddress(
            "s",
            McpServer.model_validate({"type": "local", "command": argv, **settings}),
            str(self.folder),
            ENVIRONMENT,
            None if protocol is None else str(protocol),
            limit,
        )
        return self.connections.to(address)

    def remote(self, port: int, path: str = "mcp", **settings: object) -> Connection:
        url = f"http://127.0.0.1:{port}/{path}"
        server = McpServer.model_validate({"type": "remote", "url": url, **settings})
        return self.connections.to(ServerAddress("s", server, str(self.folder), limit=10))

    async def serve(self, port: int, *arguments: str, program: str = "everyday.py") -> asyncio.subprocess.Process:
        """Start a server over HTTP, and wait until it listens."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(SERVERS / program),
            *(arguments or ("http",)),
            str(port),
            stderr=asyncio.subprocess.DEVNULL,
        )
        self.stack.push_async_callback(_end, process)
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return process


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
        await process.wait()


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncIterator[Servers]:
    made = Servers(tmp_path)
    async with made.stack, made.connections:
        yield made


@pytest.fixture(autouse=True)
def no_garbage() -> Iterator[None]:
    """Python 3.11 cannot parse, as later tests do, while finalizers of a lost connection's transports run."""
    yield
    gc.collect()


def find_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest.fixture
def free_port() -> int:
    return find_free_port()


@pytest.fixture
def other_port() -> int:
    return find_free_port()
