"""A server that answers as a case of `ssrf.json` says, and a net that leads all public addresses to it."""

import asyncio
import gzip
import re
import ssl
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import chain, count, repeat

from activities.web.reach import Reach, reach_of
from activities.web.web_address import WebAddress
from activities.web.web_fetcher import Network

PUBLIC = "93.184.215.14"
_LOOPBACK = ("localtest.me", "localhost", "localhost.localdomain", "ip6-localhost")
_METADATA = ("metadata.google.internal", "instance-data")


def _head(status: str, *headers: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *headers, "Connection: close", "", ""]).encode()


_USUAL = _head("200 OK", "Content-Type: text/plain; charset=utf-8", "Content-Length: 5", 'ETag: "1"') + b"hello"
_BOMBS: dict[str, Callable[[], Iterable[bytes]]] = {
    "gzip bomb: 10 MB -> 10 GB": lambda: [_head("200 OK", "Content-Encoding: gzip"), gzip.compress(bytes(50 * 2**20))],
    "brotli/zstd bomb": lambda: [_head("200 OK", "Content-Encoding: br") + b"x" * 1000],
    "Content-Length: 5 GB": lambda: [_head("200 OK", f"Content-Length: {5 * 2**30}")],
    "200 MB of headers": lambda: chain([b"HTTP/1.1 200 OK\r\n"], (b"X-%d: %s\r\n" % (n, b"x" * 1000) for n in count())),
    "text/html that is a zip bomb for the HTML-to-markdown converter (deep nesting x 1e6)": lambda: [
        _head("200 OK", "Content-Type: text/html") + b"<div>" * 1_500_000
    ],
}
_ENDLESS = {
    "infinite chunked body": ("Transfer-Encoding: chunked", b"10000\r\n" + bytes(0x10000) + b"\r\n"),
    "Content-Length: 10 but 5 GB sent": ("Content-Length: 10", bytes(0x10000)),
    "1 byte per second for ever": ("X-Slow: yes", b"x"),
}


@dataclass
class HostileNet(Network):
    """`raw`: its whole answer, if any; `asked`: heads of requests; `dialled`: addresses that were connected to."""

    behaviour: str = ""
    raw: bytes = b""
    port: int = 0
    through: str | None = None
    asked: list[str] = field(default_factory=list)
    dialled: list[str] = field(default_factory=list)
    tasks: set["asyncio.Task[None]"] = field(default_factory=set)

    def proxy(self, address: WebAddress) -> str | None:
        return self.through

    async def resolve(self, host: str, port: int) -> list[str]:
        if answer := re.search(r"DNS: answers \[(.*)\]", self.behaviour):
            return answer[1].split(", ")
        if answer := re.search(r"DNS: AAAA (\S+)", self.behaviour):
            return [answer[1]]
        if "CNAME" in self.behaviour or host in _METADATA:
            return ["169.254.169.254"]
        if embedded := re.fullmatch(r"(.*)\.nip\.io", host):
            return [embedded[1]]
        if host in _LOOPBACK or host.endswith(".localhost"):
            return ["127.0.0.1"]
        return ["10.0.0.7"] if "." not in host or host.endswith((".svc", ".internal")) else [PUBLIC]

    def dial(self, ip: str, port: int) -> tuple[str, int]:
        self.dialled.append(ip)
        return ("127.0.0.1", self.port) if reach_of(ip) is Reach.PUBLIC else (ip, port)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.tasks.add(task := asyncio.ensure_future(self._answer(reader, writer)))
        await asyncio.wait([task])

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.asked.append((await reader.readuntil(b"\r\n\r\n")).decode())
            for piece in self._pieces():
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0.1 if len(piece) == 1 else 0)
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client has left
        finally:
            writer.close()

    def _pieces(self) -> Iterable[bytes]:
        if self.raw:
            return [self.raw]
        if self.behaviour in _ENDLESS:
            header, piece = _ENDLESS[self.behaviour]
            return chain([_head("200 OK", header)], repeat(piece))
        if hit := re.match(r"(30\d) .*?-> (\S+)", self.behaviour):
            return [_head(f"{hit[1]} Found", f"Location: {hit[2]}", "Content-Length: 0")]
        if "chain of" in self.behaviour or "loop" in self.behaviour:
            place = str(len(self.asked)) if "chain" in self.behaviour else "ab"[len(self.asked) % 2]
            return [_head("302 Found", f"Location: /{place}", "Content-Length: 0")]
        if "to another host" in self.behaviour and len(self.asked) == 1:
            return [_head("302 Found", "Location: http://other.test/", "Content-Length: 0", "Set-Cookie: a=b")]
        if self.behaviour == "unchanged" and "if-none-match" in self.asked[-1].lower():
            return [_head("304 Not Modified", 'ETag: "1"')]
        return _BOMBS[self.behaviour]() if self.behaviour in _BOMBS else [_USUAL]


@asynccontextmanager
async def hostile_net(
    behaviour: str = "", tls: ssl.SSLContext | None = None, through: str | None = None, raw: bytes = b""
) -> AsyncIterator[HostileNet]:
    net = HostileNet(behaviour, raw, through=through)
    server = await asyncio.start_server(net.serve, "127.0.0.1", 0, ssl=tls)
    net.port = server.sockets[0].getsockname()[1]
    try:
        yield net
    finally:
        server.close()
        for task in net.tasks:
            task.cancel()
        await asyncio.gather(*net.tasks, return_exceptions=True)
