"""The response to a request: its events, or what came instead."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from http import HTTPStatus
from typing import Final

from activities.model.addresses import without_login
from activities.model.endpoint import Endpoint
from activities.model.failure_table import NO_STREAM
from activities.model.failures import error_message, from_response, parse_body, reported_error
from activities.model.wires.http_library import httpx
from activities.model.wires.timeouts import StreamTimeouts
from activities.model.wires.transport_failures import from_exception, from_unsendable
from workflows.domain.errors import ModelError, UsageError
from workflows.domain.provider_failure import ProviderFailure

# answers of a wrong address, or of a provider that does not stream; some servers give a stream such a type, too
_PAGES: Final = ("text/html", "application/json")
_READ: Final = 16 * 2**10  # bytes of such a page
_DRAINING: Final = 1.0  # seconds


@contextmanager
def translate_errors(provider: str) -> Iterator[None]:
    """Turn a library's exception into a provider's failure."""
    try:
        yield
    except ModelError:
        raise
    except Exception as error:  # the libraries pass on errors of those below
        raise ModelError(from_exception(provider, error)) from error


@contextmanager
def translate_request_errors(provider: str) -> Iterator[None]:
    """Turn an exception in writing a request into a failure that no retry can fix."""
    try:
        yield
    except (ModelError, UsageError):
        raise
    except Exception as error:  # the libraries pass on errors of those below
        raise ModelError(from_unsendable(provider, error)) from error


async def _raise_for_status(response: httpx.Response, endpoint: Endpoint, received: AsyncIterator[bytes]) -> None:
    status = response.status_code
    if status < HTTPStatus.MULTIPLE_CHOICES:
        return
    text, message = await _read_text(received), ""
    if response.has_redirect_location:
        host = response.url.join(response.headers["location"]).host
        message = f"The address redirects to {host!r}, and no redirect is followed: see baseURL in opencode.json."
    raise ModelError(from_response(endpoint.provider, status, text, dict(response.headers), message=message))


async def open_stream(
    response: httpx.Response, endpoint: Endpoint, timeouts: StreamTimeouts, recognizes: Callable[[bytes], bool]
) -> AsyncGenerator[bytes, None]:
    """The bytes of a stream of events. Raises ModelError for anything else.

    `recognizes`: whether a stream begins so.
    """
    received = timeouts.iter_bytes(endpoint.provider, response.aiter_bytes())
    await _raise_for_status(response, endpoint, received)
    if _content_type(response) not in _PAGES:
        return received
    begun = b""
    async for piece in received:
        begun += piece
        if recognizes(begun):
            return _chain(begun, received)
        if len(begun) >= _READ:
            break
    raise ModelError(_failure_of_page(response, endpoint, _decoded(begun)))


async def drain(received: AsyncIterator[bytes]) -> None:
    """Read the rest of the response after its answer, so that the connection can be used again."""
    with suppress(Exception):  # a connection that stays open, or breaks: the answer is whole
        async with asyncio.timeout(_DRAINING):
            async for _ in received:
                pass


async def _chain(begun: bytes, received: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    async with aclosing(received):
        yield begun
        async for piece in received:
            yield piece


def _failure_of_page(response: httpx.Response, endpoint: Endpoint, text: str) -> ProviderFailure:
    provider, kind = endpoint.provider, _content_type(response)
    if kind == "application/json" and isinstance(content := parse_body(text), Mapping) and reported_error(content):
        message = error_message(text) or text
        return from_response(provider, response.status_code, text, dict(response.headers), message=message)
    address = without_login(endpoint.base_url or "")
    message = (
        f"The provider answered with a page ({kind}) instead of a stream: check baseURL, {address!r}, and that the "
        "server streams. The page begins"
    )
    return ProviderFailure(provider=provider, message=message, code=NO_STREAM, quote=" ".join(text.split()))


def _content_type(response: httpx.Response) -> str:
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


async def _read_text(received: AsyncIterator[bytes]) -> str:
    read = b""
    async for piece in received:
        read += piece
        if len(read) >= _READ:
            break
    return _decoded(read)


def _decoded(read: bytes) -> str:
    return read[:_READ].decode("utf-8", "replace")
