"""How long a provider may be silent, measured in bytes received: a keep-alive is life, whatever it says."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass
from typing import Final, TypeVar

from activities.model.failures import ModelError, ProviderFailure

HEADERS: Final = 120.0  # seconds until the headers of a response (opencode.md 4.5)
FIRST: Final = 600.0  # seconds from the headers to the first byte
BETWEEN: Final = 300.0  # seconds between bytes

T = TypeVar("T")


@dataclass(frozen=True)
class Silence:
    """The limits, in seconds."""

    headers: float = HEADERS
    first: float = FIRST
    between: float = BETWEEN

    async def headers_of(self, provider: str, opening: Awaitable[T]) -> T:
        """The response that is being opened. Raises ModelError after too long a silence."""
        return await within(provider, self.headers, opening)

    async def bytes_of(self, provider: str, source: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """What comes, as it comes. Only waiting counts, not what is done with the bytes in between."""
        limit = self.first
        while True:
            try:
                received = await within(provider, limit, anext(source))
            except StopAsyncIteration:
                return
            yield received
            limit = self.between


async def within(provider: str, seconds: float, coming: Awaitable[T]) -> T:
    """What comes within so many seconds. Raises ModelError after them."""
    try:
        async with asyncio.timeout(seconds):
            return await coming
    except TimeoutError:
        silent = f"The provider was silent for {seconds:g} s."
        raise ModelError(ProviderFailure(provider=provider, message=silent, retryable=True)) from None
