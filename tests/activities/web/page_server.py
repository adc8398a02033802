"""A server of pages that change, and fail, as a test says."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256

from aiohttp import web


@dataclass
class PageServer:
    """`pages`: text by path; `asked`: path and status of each request; `fails`: with this status."""

    pages: dict[str, str]
    url: str = ""
    fails: int | None = None
    asked: list[tuple[str, int]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        response = self._response(request.path, request.headers.get("If-None-Match"))
        self.asked.append((request.path, response.status))
        return response

    def _response(self, path: str, known: str | None) -> web.Response:
        if self.fails is not None or path not in self.pages:
            return web.Response(status=self.fails or 404)
        etag = f'"{sha256(self.pages[path].encode()).hexdigest()}"'
        if known == etag:
            return web.Response(status=304)
        return web.Response(text=self.pages[path], headers={"ETag": etag})


@asynccontextmanager
async def page_server(pages: dict[str, str], tls: ssl.SSLContext | None = None) -> AsyncIterator[PageServer]:
    server = PageServer(dict(pages))
    application = web.Application()
    application.router.add_route("GET", "/{path:.*}", server.answer)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        port = runner.addresses[0][1]
        server.url = f"https://localhost:{port}" if tls else f"http://127.0.0.1:{port}"
        yield server
    finally:
        await runner.cleanup()
