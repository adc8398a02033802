"""How long a provider may be silent, in received bytes: each keep-alive counts."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from activities.model.endpoint import SilenceLimits
from workflows.domain.config.provider_settings import ProviderOptions
from workflows.domain.errors import ModelError
from workflows.domain.provider_failure import ProviderFailure

HEADERS_TIMEOUT: Final = 120.0  # seconds until a response's headers (opencode.md 4.5)
FIRST_BYTE_TIMEOUT: Final = 600.0  # seconds from the headers to the first byte
IDLE_TIMEOUT: Final = 300.0  # seconds between bytes
_NO_LIMIT: Final = 86_400.0  # seconds: no attempt of an activity lives so long

T = TypeVar("T")


@dataclass(frozen=True)
class StreamTimeouts:
    """The limits, in seconds."""

    headers: float = HEADERS_TIMEOUT
    first_byte: float = FIRST_BYTE_TIMEOUT
    idle: float = IDLE_TIMEOUT

    @property
    def longest(self) -> float:
        """For libraries that measure one limit for all reads."""
        return max(self.first_byte, self.idle)

    def with_pauses(self) -> "StreamTimeouts":
        """For a server that sends its headers with an answer's first piece, and nothing while it collects a call."""
        return replace(self, headers=max(self.headers, self.first_byte), idle=self.longest)

    def configured(self, own: SilenceLimits) -> "StreamTimeouts":
        """The same with a provider's own limits."""
        limits = {name: seconds for name, seconds in own if seconds is not None}
        return replace(self, **limits) if limits else self

    async def await_headers(self, provider: str, opening: Awaitable[T]) -> T:
        """The opened response. Raises ModelError after too long a silence."""
        return await wait_at_most(provider, self.headers, opening)

    async def iter_bytes(self, provider: str, source: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        """The bytes as they come. Only waiting counts, not the time between reads."""
        limit = self.first_byte
        while True:
            try:
                received = await wait_at_most(provider, limit, anext(source))
            except StopAsyncIteration:
                return
            yield received
            limit = self.idle


def silence_limits(options: ProviderOptions) -> SilenceLimits:
    """OpenCode's `timeout`, there a whole request's, is each silence's here: an answer that comes is never cut."""
    each, chunk = _seconds(options.timeout), _seconds(options.chunk_timeout)
    between = each if chunk is None else chunk
    header = _seconds(options.header_timeout)
    return SilenceLimits(headers=each if header is None else header, first_byte=between, idle=between)


def _seconds(milliseconds: float | None) -> float | None:
    """`false` means no limit."""
    return _NO_LIMIT if milliseconds is False else milliseconds and min(milliseconds / 1000, _NO_LIMIT)


async def wait_at_most(provider: str, seconds: float, awaitable: Awaitable[T]) -> T:
    """Raises ModelError after `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            return await awaitable
    except TimeoutError:
        raise ModelError(silent(provider, seconds)) from None


def silent(provider: str, seconds: float) -> ProviderFailure:
    return ProviderFailure(provider=provider, message=f"The provider was silent for {seconds:g} s.", retryable=True)
