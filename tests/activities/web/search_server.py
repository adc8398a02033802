"""A server that searches as Exa's API and as SearXNG do, and refuses what they refuse."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

KEY = "exa-test-key-0123456789"
_FOUND = {
    "title": "Kites\n and wind",
    "url": "https://kites.example/a?b=1",
    "publishedDate": "2026-01-02T00:00:00.000Z",
}


@dataclass
class SearchServer:
    """`asked`: what requests wanted, and their headers; `raw`: answered in place of results, with `status`."""

    port: int = 0
    raw: str | None = None
    status: int = 200
    asked: list[tuple[dict[str, Any], dict[str, str]]] = field(default_factory=list)

    async def exa(self, request: web.Request) -> web.Response:
        wanted = await request.json()
        self.asked.append((wanted, dict(request.headers)))
        if request.headers.get("x-api-key") != KEY:
            return web.json_response({"error": "Invalid API key"}, status=401)
        if wanted.keys() - {"query", "type", "numResults", "contents"} or wanted["type"] not in (
            "auto",
            "fast",
            "deep",
        ):
            return web.json_response({"error": "Invalid request body"}, status=400)
        text = "All about kites. " * 1000
        found = {**_FOUND, "id": "x", "author": None, "text": text[: wanted["contents"]["text"]["maxCharacters"]]}
        return self._answer({"requestId": "r", "results": [found, {"url": "https://b.example/", "title": None}]})

    async def searxng(self, request: web.Request) -> web.Response:
        self.asked.append((dict(request.query), dict(request.headers)))
        found = [{**_FOUND, "content": f"part {number}", "engine": "x", "score": 1.5} for number in range(20)]
        return self._answer({"query": request.query["q"], "number_of_results": 0, "results": found, "answers": []})

    def _answer(self, found: dict[str, Any]) -> web.Response:
        if self.raw is not None:
            return web.Response(text=self.raw, status=self.status, headers={"Location": "/elsewhere"})
        return web.json_response(found)


@asynccontextmanager
async def search_server(tls: ssl.SSLContext | None = None) -> AsyncIterator[SearchServer]:
    server = SearchServer()
    application = web.Application()
    application.router.add_post("/search", server.exa)
    application.router.add_get("/search", server.searxng)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        server.port = runner.addresses[0][1]
        yield server
    finally:
        await runner.cleanup()
