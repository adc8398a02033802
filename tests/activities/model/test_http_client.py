"""The HTTP client of the wires, against a real server."""

from collections.abc import AsyncIterator

import httpx
import pytest
from aiohttp import web

from activities.model.wires.http_client import Connections

BODY = b"a long conversation"


@pytest.fixture
async def address() -> AsyncIterator[str]:
    """A server that redirects /old to /new, which returns its request body."""

    async def redirect(_: web.Request) -> web.Response:
        raise web.HTTPTemporaryRedirect("/new")

    async def echo(request: web.Request) -> web.Response:
        return web.Response(body=await request.read())

    application = web.Application()
    application.router.add_post("/old", redirect)
    application.router.add_post("/new", echo)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


async def test_a_body_is_sent_whole_and_not_kept(address: str) -> None:
    connections = Connections({})

    response = await connections.client().post(f"{address}/new", content=BODY)
    stream = response.request.stream
    assert isinstance(stream, httpx.AsyncByteStream)
    kept = b"".join([piece async for piece in stream])
    await connections.close()

    assert (response.content, kept) == (BODY, b"")


async def test_a_body_in_pieces_is_sent_whole_by_the_request_that_was_built(address: str) -> None:
    connections = Connections({})
    client = connections.client()

    request = client.build_post(f"{address}/new", {"host": "named.example"}, (BODY[:6], BODY[6:]))
    response = await client.send(request)
    await connections.close()

    assert (response.content, response.request) == (BODY, request)
    assert request.headers["host"] == "named.example" and request.headers["content-length"] == str(len(BODY))


async def test_a_client_follows_no_redirect(address: str) -> None:
    connections = Connections({})

    response = await connections.client().post(f"{address}/old", content=BODY)
    await connections.close()

    assert response.status_code == httpx.codes.TEMPORARY_REDIRECT


async def test_there_is_a_new_client_after_closing() -> None:
    connections = Connections({})
    first = connections.client()
    await connections.close()

    assert first.is_closed and not connections.client().is_closed
    await connections.close()
