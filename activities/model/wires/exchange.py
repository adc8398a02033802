"""The response to a request: its events, or what came instead."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Final

import httpx

from activities.model.addresses import without_login
from activities.model.failures import (
    ModelError,
    ProviderFailure,
    error_message,
    from_response,
    reported_error,
    status_phrase,
)
from activities.model.litellm_failures import from_exception, from_unsendable, is_transient_status
from activities.model.port import Endpoint
from activities.model.wires.timeouts import StreamTimeouts
from workflows.domain.errors import UsageError

_PAGES: Final = ("text/html", "application/json")  # answers of a wrong address, or of a provider that does not stream
_READ: Final = 16 * 2**10  # bytes of such a page


@contextmanager
def translate_errors(provider: str) -> Iterator[None]:
    """Turn a library's exception into the provider's failure."""
    try:
        yield
    except ModelError:
        raise
    except Exception as error:  # the libraries pass on errors of those below
        raise ModelError(from_exception(provider, error)) from error


@contextmanager
def translate_request_errors(provider: str) -> Iterator[None]:
    """Turn an exception in writing a request into a failure that no retry mends."""
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
    text = await _read_prefix(received)
    message = error_message(text) or status_phrase(status)
    if response.has_redirect_location:
        host = response.url.join(response.headers["location"]).host
        message = f"The address redirects to {host!r}, and no redirect is followed: see baseURL in opencode.json."
    raise ModelError(
        from_response(
            endpoint.provider, status, message, text, dict(response.headers), retryable=is_transient_status(status)
        )
    )


async def open_stream(
    response: httpx.Response, endpoint: Endpoint, timeouts: StreamTimeouts
) -> AsyncGenerator[bytes, None]:
    """The bytes of a stream of events. Raises ModelError for anything else."""
    received = timeouts.iter_bytes(endpoint.provider, response.aiter_bytes())
    await _raise_for_status(response, endpoint, received)
    if _content_type(response) in _PAGES:
        raise ModelError(await _failure_of_page(response, endpoint, received))
    return received


async def _failure_of_page(
    response: httpx.Response, endpoint: Endpoint, received: AsyncIterator[bytes]
) -> ProviderFailure:
    provider, kind = endpoint.provider, _content_type(response)
    text = await _read_prefix(received)
    if kind == "application/json" and _is_error_body(text):
        return from_response(
            provider, response.status_code, error_message(text) or "", text, dict(response.headers), retryable=False
        )
    address = without_login(endpoint.base_url or "")
    message = (
        f"The provider answered with a page ({kind}) instead of a stream: is {address!r} the address of its API? "
        "The page begins"
    )
    return ProviderFailure(provider=provider, message=message, retryable=True, quote=" ".join(text.split()))


def _content_type(response: httpx.Response) -> str:
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


async def _read_prefix(received: AsyncIterator[bytes]) -> str:
    read = b""
    async for piece in received:
        read += piece
        if len(read) >= _READ:
            break
    return read[:_READ].decode("utf-8", "replace")


def _is_error_body(text: str) -> bool:
    try:
        content = json.loads(text)
    except ValueError:
        return False
    return isinstance(content, Mapping) and bool(reported_error(content))
