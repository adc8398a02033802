"""WebAccess: the net, as tools have it."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pydantic import SecretStr

from activities.credentials.keys import Keys
from activities.model.key_lookup import find_key
from activities.model.providers import provider_named
from activities.web.fetch_request import Fetched, FetchRequest
from activities.web.html_conversion import TextFormat, convert_page
from activities.web.web_fetcher import Network, WebFetcher

_CONVERSIONS: Final = 4  # at once: each is a process, and a large page takes it 160 MB


@dataclass(frozen=True)
class WebAccess:
    """`keys` and `environment` have the keys of search services; the latter is this process's."""

    keys: Keys
    environment: Mapping[str, str]
    network: Network = Network()
    conversions: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_CONVERSIONS))

    async def fetch(self, request: FetchRequest, may_fetch: Callable[[str], bool] = lambda url: True) -> Fetched:
        return await WebFetcher(self.environment, self.network, may_fetch).fetch(request)

    async def convert(self, html: str, output_format: TextFormat, url: str) -> str:
        async with self.conversions:
            return await convert_page(html, output_format, url)

    def key(self, service: str) -> SecretStr | None:
        return find_key(provider_named(service), None, self.keys, self.environment)
