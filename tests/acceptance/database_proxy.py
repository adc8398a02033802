"""A proxy to PostgreSQL that catches single commits."""

import asyncio
import shutil
import tempfile
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, quote, urlsplit, urlunsplit

from tests.polling import WAIT_TIMEOUT

_SOCKET: Final = ".s.PGSQL.5432"
_CHUNK: Final = 65_536
_COMMITTED: Final = b"COMMIT\0"  # the server's answer to a commit


@dataclass
class Interception:
    """Catches the commit of a transaction that contains a word, or the first such request. `cut`: the connection
    breaks, else it waits for `let_go`."""

    word: bytes
    cut: bool = False
    happened: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait_until_caught(self) -> None:
        async with asyncio.timeout(WAIT_TIMEOUT):
            await self.happened.wait()

    def release(self) -> None:
        self.released.set()


class DatabaseProxy:
    """Passes everything on, except for what it catches, each once and on any connection."""

    def __init__(self, server: Path) -> None:
        self.url = ""
        self.opened = 0  # connections, so far
        self._server = server
        self._commits: list[Interception] = []
        self._requests: list[Interception] = []
        self._catches: list[Interception] = []
        self._passages: list[_ProxiedConnection] = []
        self._parted = False
        self.frozen = asyncio.Event()
        self._left: int | None = None

    def part(self) -> None:
        """Break all connections, and refuse new ones until `join`."""
        self._parted = True
        self._break()

    def silence(self) -> None:
        """Carry nothing more on existing connections, but keep them; new ones can be made."""
        for passage in self._passages:
            passage.silent = True

    def freeze_at(self, request: int) -> None:
        """Carry nothing from this request of the client on, counted from now, as if its process was stopped: `frozen`
        is set then."""
        self._left = request

    def join(self) -> None:
        self._parted = False

    def cut(self, word: str) -> Interception:
        """Carry the commit out, and break the connection before its answer: the client cannot know."""
        return self._catch(self._commits, Interception(word.encode(), cut=True))

    def hold(self, word: str) -> Interception:
        """Carry the commit out, and hold its answer until it is let go."""
        return self._catch(self._commits, Interception(word.encode()))

    def hold_request(self, word: str) -> Interception:
        """Hold the next request with this word until it is let go."""
        return self._catch(self._requests, Interception(word.encode()))

    async def accept(self, reader: StreamReader, client: StreamWriter) -> None:
        if self._parted:
            client.transport.abort()
            return
        answers, server = await asyncio.open_unix_connection(self._server)
        passage = _ProxiedConnection(client, server)
        self.opened += 1
        self._passages.append(passage)
        try:
            await asyncio.gather(self._ask(reader, passage), self._answer(answers, passage))
        except ConnectionError:  # a dead client left something unread: the server's side must end, too
            passage.abort()

    def close(self) -> None:
        """Break all connections; held requests do not arrive."""
        self._break()
        for catch in self._catches:
            catch.release()

    def _break(self) -> None:
        for passage in self._passages:
            passage.abort()

    def _catch(self, among: list[Interception], catch: Interception) -> Interception:
        among.append(catch)
        self._catches.append(catch)
        return catch

    async def _ask(self, reader: StreamReader, passage: "_ProxiedConnection") -> None:
        while data := await reader.read(_CHUNK):
            if self._left is not None:
                self._left -= 1
                if self._left == 0:
                    self.silence()
                    self.frozen.set()
            if passage.silent or self.frozen.is_set():
                continue
            if (catch := _said(self._requests, data)) is not None:
                catch.happened.set()
                await catch.released.wait()
            passage.commit = _said(self._commits, data) or passage.commit
            passage.server.write(data)
            await passage.server.drain()
        passage.server.close()

    async def _answer(self, reader: StreamReader, passage: "_ProxiedConnection") -> None:
        while data := await reader.read(_CHUNK):
            if passage.silent:
                continue
            if passage.commit is not None and _COMMITTED in data:
                catch, passage.commit = passage.commit, None
                catch.happened.set()
                if catch.cut:
                    passage.abort()
                    break
                await catch.released.wait()
            passage.client.write(data)
            await passage.client.drain()
        if not passage.silent:  # the server's own limit ends it, and a silent network does not tell
            passage.client.close()


@dataclass
class _ProxiedConnection:
    """One connection, and the commit to catch on it; `silent`: its data is lost."""

    client: StreamWriter
    server: StreamWriter
    commit: Interception | None = None
    silent: bool = False

    def abort(self) -> None:
        self.client.transport.abort()
        self.server.transport.abort()


def _said(catches: list[Interception], data: bytes) -> Interception | None:
    """Take the interception whose word is in the data."""
    found = next((catch for catch in catches if catch.word in data), None)
    if found is not None:
        catches.remove(found)
    return found


@asynccontextmanager
async def database_proxy(url: str) -> AsyncIterator[DatabaseProxy]:
    """A proxy to a database's server; its `url` leads through it."""
    parts = urlsplit(url)
    (sockets,) = parse_qs(parts.query)["host"]
    between = DatabaseProxy(Path(sockets) / _SOCKET)
    directory = tempfile.mkdtemp(prefix="hf-")  # a socket's path is short
    server = await asyncio.start_unix_server(between.accept, Path(directory) / _SOCKET)
    between.url = urlunsplit(parts._replace(query=f"host={quote(directory, safe='')}"))
    try:
        yield between
    finally:
        server.close()
        between.close()
        shutil.rmtree(directory)
