"""The wires' HTTP client and its connections."""

from collections.abc import AsyncIterator
from typing import Any, Final

import httpx

_CONNECTIONS: Final = 1000
_IDLE_CONNECTIONS: Final = 100


class BodyReleasingClient(httpx.AsyncClient):
    """Keeps a request's body only until the response's headers arrive.

    httpx links requests and responses in reference cycles: megabytes would wait for the garbage collector.
    """

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        body = _ReleasableBody(await request.aread())
        released = httpx.Request(
            request.method, request.url, headers=request.headers, stream=body, extensions=request.extensions
        )
        try:
            return await super().send(released, **options)
        finally:
            body.release()


class _ReleasableBody(httpx.AsyncByteStream):
    """Can be sent again, after a redirect, until released."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._content

    def release(self) -> None:
        self._content = b""


class Connections:
    """Connections to providers, kept open between requests; `StreamTimeouts` watches their silences."""

    def __init__(self, *, follow_redirects: bool = False) -> None:
        self._client: BodyReleasingClient | None = None
        self._follow_redirects = follow_redirects

    @property
    def client(self) -> BodyReleasingClient:
        """A new one after `close`."""
        if self._client is None:
            limits = httpx.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=_IDLE_CONNECTIONS)
            self._client = BodyReleasingClient(timeout=None, limits=limits, follow_redirects=self._follow_redirects)
        return self._client

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
