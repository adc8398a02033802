"""The response to a request: its events, or what came instead of them."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from http import HTTPStatus
from typing import Any, Final

import httpx

from activities.model.failures import ModelError, ProviderFailure, from_response, phrase, words_of
from activities.model.litellm_failures import passing, told, unsent
from activities.model.port import Endpoint
from activities.model.wires import sse
from activities.model.wires.silence import Silence
from workflows.domain.errors import UsageError

_PAGES: Final = ("text/html", "application/json")  # what a wrong address answers, or a provider that does not stream
_READ: Final = 16 * 2**10  # bytes of such a page
_CONNECTIONS: Final = 1000
_KEPT: Final = 100


class Connections:
    """Connections to providers, kept open between requests; their silences are watched by `Silence`."""

    def __init__(self) -> None:
        self._client: httpx.AsyncClient | None = None

    @property
    def client(self) -> httpx.AsyncClient:
        """What requests go out by; a new one where the last was closed."""
        if self._client is None:
            limits = httpx.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=_KEPT)
            self._client = httpx.AsyncClient(timeout=None, limits=limits)
        return self._client

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()


@contextmanager
def failing(provider: str) -> Iterator[None]:
    """Tells whatever a library raises meanwhile as the provider's failure."""
    try:
        yield
    except ModelError:
        raise
    except Exception as error:  # the libraries raise whatever one below them raises
        raise ModelError(told(provider, error)) from error


@contextmanager
def writing(provider: str) -> Iterator[None]:
    """Tells whatever prevents a request from being written: the same request fails again."""
    try:
        yield
    except (ModelError, UsageError):
        raise
    except Exception as error:  # the libraries raise whatever one below them raises
        raise ModelError(unsent(provider, error)) from error


async def _refuse(response: httpx.Response, endpoint: Endpoint, received: AsyncIterator[bytes]) -> None:
    """Raises ModelError for a response that tells an error."""
    if response.status_code < HTTPStatus.BAD_REQUEST:
        return
    status, text = response.status_code, await _beginning(received)
    message = words_of(text) or phrase(status)
    raise ModelError(
        from_response(endpoint.provider, status, message, text, dict(response.headers), retryable=passing(status))
    )


async def events(
    response: httpx.Response, endpoint: Endpoint, silence: Silence
) -> AsyncGenerator[dict[str, Any], None]:
    """The objects of a stream of events. Raises ModelError for what is none."""
    received = silence.bytes_of(endpoint.provider, response.aiter_bytes())
    await _refuse(response, endpoint, received)
    if _kind(response) in _PAGES:
        raise ModelError(await _page(response, endpoint, received))
    async with aclosing(sse.objects(endpoint.provider, received)) as objects:
        async for event in objects:
            yield event


async def _page(response: httpx.Response, endpoint: Endpoint, received: AsyncIterator[bytes]) -> ProviderFailure:
    provider, kind = endpoint.provider, _kind(response)
    text = await _beginning(received)
    if kind == "application/json" and _tells_an_error(text):
        return from_response(
            provider, response.status_code, words_of(text) or "", text, dict(response.headers), retryable=False
        )
    said = (
        f"The provider answered with a page ({kind}) instead of a stream: is {endpoint.base_url!r} the "
        f"address of its API? The page begins"
    )
    return ProviderFailure(provider=provider, message=said, retryable=True, quote=" ".join(text.split()))


def _kind(response: httpx.Response) -> str:
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


async def _beginning(received: AsyncIterator[bytes]) -> str:
    """As much of a page as is worth reading."""
    read = b""
    async for piece in received:
        read += piece
        if len(read) >= _READ:
            break
    return read[:_READ].decode("utf-8", "replace")


def _tells_an_error(text: str) -> bool:
    try:
        content = json.loads(text)
    except ValueError:
        return False
    return isinstance(content, Mapping) and bool(content.get("error"))
