"""Where the pieces of an answer come from: litellm, or the OpenAI client below it; and what may come instead of one."""

import json
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any, Final
from weakref import proxy

from activities.model.failures import ModelError, ProviderFailure, from_response, words_of
from activities.model.port import Endpoint

LARGEST: Final = 8 * 2**20  # bytes of one event: a line that does not end would be copied with each packet of it
_PAGES: Final = ("text/html", "application/json")  # what a wrong address answers, or a provider that does not stream
_READ: Final = 16 * 2**10  # bytes of such a page


class Source:
    """The chunks of one answer. Endpoints that speak OpenAI's protocol are read as they come, before litellm."""

    def __init__(self, wrapper: Any, endpoint: Endpoint) -> None:
        raw = wrapper.completion_stream
        by_client = type(raw).__module__.partition(".")[0] == "openai"
        self._wrapper = wrapper
        self._endpoint = endpoint
        self._raw = raw if endpoint.compatible and by_client else None
        self._response: Any = raw.response if by_client else None

    async def open(self) -> AsyncIterator[Any]:
        """Begin to read. Raises ModelError for a page where a stream should be."""
        if self._raw is None:
            return aiter(self._wrapper)
        response = self._response
        if _kind(response) in _PAGES:
            raise ModelError(await self._page(response))
        # below the client, which joins all pieces of a line before it looks at them
        response.aiter_bytes = partial(_bounded, proxy(response), self._endpoint.provider)
        self._raw._cast_to = object  # JSON as it is: the client would make five objects of each piece
        return aiter(self._raw)

    def let_go(self) -> None:
        """Have a closed response forget its stream, which knows the response, too: else both stay, with a long
        conversation's megabytes in them, until the collector of reference cycles comes by, after many steps."""
        if self._response is not None and self._response.is_closed:
            self._response.stream = self._response.request.stream  # which knows nobody, and may be closed again

    @property
    def cut(self) -> bool:
        """Whether the stream has ended without a word about its end, for which litellm makes one up."""
        ends = ("received_finish_reason", "intermittent_finish_reason")
        return self._raw is None and not any(getattr(self._wrapper, name, None) for name in ends)

    async def _page(self, response: Any) -> ProviderFailure:
        provider, kind = self._endpoint.provider, _kind(response)
        text = await _beginning(response)
        if kind == "application/json" and _tells_an_error(text):
            return from_response(
                provider, response.status_code, words_of(text) or "", text, dict(response.headers), retryable=False
            )
        said = (
            f"The provider answered with a page ({kind}) instead of a stream: is {self._endpoint.base_url!r} the "
            f"address of its API? The page begins: {' '.join(text.split())[:200]!r}"
        )
        return ProviderFailure(provider=provider, message=said, retryable=True)


def _kind(response: Any) -> str:
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


async def _beginning(response: Any) -> str:
    read = b""
    async for piece in response.aiter_bytes():
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


async def _bounded(response: Any, provider: str) -> AsyncIterator[bytes]:
    """Pass the bytes on as long as their lines end some time."""
    open_line = 0
    async for piece in response.__class__.aiter_bytes(response):
        last = piece.rfind(b"\n")
        open_line = open_line + len(piece) if last < 0 else len(piece) - last - 1
        if open_line > LARGEST:
            said = f"The provider sent a line of more than {LARGEST // 2**20} MB, which is no piece of an answer."
            raise ModelError(ProviderFailure(provider=provider, message=said, retryable=False))
        yield piece
