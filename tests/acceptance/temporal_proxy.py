"""A proxy between one process and Temporal that can part them, or lose answers."""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

_CHUNK = 65_536


class Proxy:
    """Passes everything on until the two are parted: then the server sees broken connections, the client silence.

    A deaf one still carries requests, and loses the answers.
    """

    def __init__(self, target: str) -> None:
        self._host, _, self._port = target.rpartition(":")
        self._parted = False
        self._deaf = False
        self._writers: dict[StreamWriter, StreamWriter | None] = {}  # by client: to the server
        self._accepted: set[asyncio.Task[None]] = set()
        self.address = ""

    def part(self) -> None:
        self._parted = True
        for server in self._writers.values():
            if server is not None:
                server.transport.abort()

    def drop_answers(self) -> None:
        self._deaf = True

    def close(self) -> None:
        self.part()
        for client in self._writers:
            client.transport.abort()

    async def wait_closed(self) -> None:
        """Until no connection is left, also of those that were just being made."""
        await asyncio.gather(*self._accepted)

    def accept(self, reader: StreamReader, client: StreamWriter) -> None:
        task = asyncio.create_task(self.carry(reader, client))
        self._accepted.add(task)
        task.add_done_callback(self._accepted.discard)

    async def carry(self, reader: StreamReader, client: StreamWriter) -> None:
        if self._parted:
            self._writers[client] = None
            return
        answers, server = await asyncio.open_connection(self._host, int(self._port))
        self._writers[client] = server
        if self._parted:  # meanwhile
            server.transport.abort()
            client.transport.abort()
        with suppress(ConnectionError):
            await asyncio.gather(self._pass_on(reader, server), self._pass_on(answers, client, answers=True))

    async def _pass_on(self, reader: StreamReader, writer: StreamWriter, *, answers: bool = False) -> None:
        while data := await reader.read(_CHUNK):
            if not (answers and self._deaf):
                writer.write(data)
                await writer.drain()


@asynccontextmanager
async def proxy(target: str, port: int = 0) -> AsyncIterator[Proxy]:
    """A proxy to `host:port` within the context; port 0 takes a free one."""
    between = Proxy(target)
    server = await asyncio.start_server(between.accept, "127.0.0.1", port)
    host, port = server.sockets[0].getsockname()
    between.address = f"{host}:{port}"
    try:
        yield between
    finally:
        server.close()
        between.close()
        await between.wait_closed()
