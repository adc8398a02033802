"""The ways to a server: the SDK's clients over a process of ours, over HTTP, and over the older event stream."""

import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from importlib.metadata import version
from typing import Any, Final

import httpx2
from mcp.client.client import Client, ConnectMode
from mcp.client.session import IncomingMessage
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation, PromptListChangedNotification, ToolListChangedNotification

from activities.credentials.logins import Logins
from activities.mcp.address import RemoteServer, ServerAddress
from activities.mcp.connection import CALL, OpenClient, ServerEnd
from activities.mcp.login_auth import LoginAuth
from activities.mcp.stdio import MAX_MESSAGE, ErrorLines, run_server

logging.getLogger("mcp").addHandler(logging.NullHandler())  # as for logging in: no traceback on a terminal
_SILENCE: Final = 24 * 3600.0  # seconds that an open stream may be silent: our own clock ends calls


def ways_to(address: ServerAddress, environ: Mapping[str, str], logins: Logins) -> tuple[OpenClient, ...]:
    """The first that works is kept. `environ`: resolves references, each time."""
    if address.settings.type == "local":
        modes = [address.protocol] if address.protocol else ["auto", "legacy"]
        # Servers of early 2025 end at a question that they do not know: a second process is asked the old way.
        return tuple(partial(_run, address, environ, mode) for mode in modes)
    return (
        partial(_ask_over_http, address, environ, logins, address.protocol or "auto"),
        partial(_ask_over_events, address, environ, logins),
    )


@asynccontextmanager
async def _run(
    address: ServerAddress, environ: Mapping[str, str], mode: ConnectMode, end: ServerEnd
) -> AsyncGenerator[Client]:
    errors = ErrorLines()
    end.last_error = lambda: errors.last
    program = await address.program(environ)
    async with _client(run_server(program, errors, end.reached.set), mode, end) as client:
        yield client


@asynccontextmanager
async def _ask_over_http(
    address: ServerAddress, environ: Mapping[str, str], logins: Logins, mode: ConnectMode, end: ServerEnd
) -> AsyncGenerator[Client]:
    endpoint = await address.endpoint(environ)
    async with _http_client(address, endpoint, logins, end) as http:
        transport = streamable_http_client(endpoint.url, http_client=http, max_sse_event_size=MAX_MESSAGE)
        async with _client(transport, mode, end) as client:
            yield client


@asynccontextmanager
async def _ask_over_events(
    address: ServerAddress, environ: Mapping[str, str], logins: Logins, end: ServerEnd
) -> AsyncGenerator[Client]:
    endpoint = await address.endpoint(environ)

    def factory(headers: object = None, timeout: object = None, auth: object = None) -> httpx2.AsyncClient:
        return _http_client(address, endpoint, logins, end)

    async with _client(sse_client(endpoint.url, httpx_client_factory=factory), "legacy", end) as client:
        yield client


def _http_client(address: ServerAddress, endpoint: RemoteServer, logins: Logins, end: ServerEnd) -> httpx2.AsyncClient:
    by_header = any(name.lower() == "authorization" for name in endpoint.headers)
    without = by_header or address.settings.oauth is False
    return httpx2.AsyncClient(
        headers=endpoint.headers,
        auth=None if without else LoginAuth(address.name, endpoint.url, logins, partial(_note_unsent, end)),
        timeout=httpx2.Timeout(address.limit, read=_SILENCE),
        transport=_WatchedTransport(end),
    )


@asynccontextmanager
async def _client(
    transport: AbstractAsyncContextManager[Any], mode: ConnectMode, end: ServerEnd
) -> AsyncGenerator[Client]:
    async def on_message(message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification | PromptListChangedNotification):
            end.changed.set()

    who = Implementation(name="holdfast", version=version("holdfast"))
    async with Client(transport, client_info=who, mode=mode, message_handler=on_message, cache=None) as client:
        yield client


class _WatchedTransport(httpx2.AsyncHTTPTransport):
    """Answers of a bounded size (the SDK itself bounds only events of a stream); notes the calls that were not sent."""

    def __init__(self, end: ServerEnd) -> None:
        super().__init__()
        self._end = end

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await super().handle_async_request(request)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            _note_unsent(self._end, request)
            raise
        if "text/event-stream" not in response.headers.get("content-type", ""):
            response.stream = _Bounded(response.stream)
        return response


def _note_unsent(end: ServerEnd, request: httpx2.Request) -> None:
    params = json.loads(request.content).get("params") if request.content else None
    if isinstance(params, dict) and (call := params.get("_meta", {}).get(CALL)):
        end.unsent.add(call)


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            size += len(piece)
            if size > MAX_MESSAGE:
                raise httpx2.ReadError(f"an answer of more than {MAX_MESSAGE:,} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()
