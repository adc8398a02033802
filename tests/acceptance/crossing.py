"""A crossing between a client and PostgreSQL, where single commits are caught on their way."""

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

from tests.patience import PATIENCE

_SOCKET: Final = ".s.PGSQL.5432"
_CHUNK: Final = 65_536
_COMMITTED: Final = b"COMMIT\0"  # the server's answer to a commit


@dataclass
class Catch:
    """What is waited for: the commit of a transaction that says a word, or the first request that does. `cut`: the
    connection breaks there, else it stands still until `let_go`."""

    word: bytes
    cut: bool = False
    happened: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)

    async def caught(self) -> None:
        async with asyncio.timeout(PATIENCE):
            await self.happened.wait()

    def let_go(self) -> None:
        self.released.set()


class Crossing:
    """Passes everything on, but for what is to be caught: each once, whoever comes with it first."""

    def __init__(self, server: Path) -> None:
        self.url = ""
        self._server = server
        self._commits: list[Catch] = []
        self._requests: list[Catch] = []
        self._catches: list[Catch] = []
        self._passages: list[_Passage] = []
        self._parted = False

    def part(self) -> None:
        """Break all connections, and let none be made until `join`."""
        self._parted = True
        self._break()

    def silence(self) -> None:
        """Carry nothing more on the connections that there are, and break none; others can be made."""
        for passage in self._passages:
            passage.silent = True

    def join(self) -> None:
        self._parted = False

    def cut(self, word: str) -> Catch:
        """Carry the commit out, and break the connection before its answer: whoever asked cannot know."""
        return self._catch(self._commits, Catch(word.encode(), cut=True))

    def hold(self, word: str) -> Catch:
        """Carry the commit out, and keep its answer back until it is let go."""
        return self._catch(self._commits, Catch(word.encode()))

    def hold_request(self, word: str) -> Catch:
        """Keep the next request back that says this, until it is let go."""
        return self._catch(self._requests, Catch(word.encode()))

    async def accept(self, reader: StreamReader, client: StreamWriter) -> None:
        if self._parted:
            client.transport.abort()
            return
        answers, server = await asyncio.open_unix_connection(self._server)
        passage = _Passage(client, server)
        self._passages.append(passage)
        try:
            await asyncio.gather(self._ask(reader, passage), self._answer(answers, passage))
        except ConnectionError:  # a client that has died left something unread: the server has to hear of its end, too
            passage.abort()

    def close(self) -> None:
        """Break all connections; what was never let go has not crossed."""
        self._break()
        for catch in self._catches:
            catch.let_go()

    def _break(self) -> None:
        for passage in self._passages:
            passage.abort()

    def _catch(self, among: list[Catch], catch: Catch) -> Catch:
        among.append(catch)
        self._catches.append(catch)
        return catch

    async def _ask(self, reader: StreamReader, passage: "_Passage") -> None:
        while data := await reader.read(_CHUNK):
            if passage.silent:
                continue
            if (catch := _said(self._requests, data)) is not None:
                catch.happened.set()
                await catch.released.wait()
            passage.commit = _said(self._commits, data) or passage.commit
            passage.server.write(data)
            await passage.server.drain()
        passage.server.close()

    async def _answer(self, reader: StreamReader, passage: "_Passage") -> None:
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
        passage.client.close()


@dataclass
class _Passage:
    """One connection, and the commit that is to be caught on it; `silent`: what is said on it is lost."""

    client: StreamWriter
    server: StreamWriter
    commit: Catch | None = None
    silent: bool = False

    def abort(self) -> None:
        self.client.transport.abort()
        self.server.transport.abort()


def _said(catches: list[Catch], data: bytes) -> Catch | None:
    """Take the catch whose word is said."""
    found = next((catch for catch in catches if catch.word in data), None)
    if found is not None:
        catches.remove(found)
    return found


@asynccontextmanager
async def crossing(url: str) -> AsyncIterator[Crossing]:
    """A crossing to the server of a database's address; `url` is the address over it."""
    parts = urlsplit(url)
    (sockets,) = parse_qs(parts.query)["host"]
    between = Crossing(Path(sockets) / _SOCKET)
    directory = tempfile.mkdtemp(prefix="hf-")  # a socket's path is short
    server = await asyncio.start_unix_server(between.accept, Path(directory) / _SOCKET)
    between.url = urlunsplit(parts._replace(query=f"host={quote(directory, safe='')}"))
    try:
        yield between
    finally:
        server.close()
        between.close()
        shutil.rmtree(directory)
