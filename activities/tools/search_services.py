"""Who searches the net for `websearch`."""

import asyncio
import json
from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import urlencode

from pydantic import AliasChoices, Field, ValidationError

from activities.tools.tool import WebHandle
from activities.web.fetch_request import Fetched, FetchRequest
from activities.web.web_address import parse_address
from workflows.domain.config.config import EXA
from workflows.domain.errors import FetchError
from workflows.domain.value import Value, WireValue

_LIMIT: Final = 2 * 1024 * 1024  # bytes of an answer
_SECONDS: Final = 25.0  # opencode.md 7.2
_EXA_URL: Final = "https://api.exa.ai/search"


class SearchQuery(Value):
    """`characters`: of the texts of all results. `kind` and `livecrawl` are words of Exa's."""

    text: str
    results: int
    characters: int
    kind: str = "auto"
    livecrawl: str | None = None


class SearchResult(WireValue):
    """As Exa and SearXNG write one."""

    url: str
    title: str | None = None
    text: str | None = Field(None, validation_alias=AliasChoices("text", "content"))
    published: str | None = Field(None, validation_alias="publishedDate")


class _Answer(WireValue):
    results: tuple[SearchResult, ...]


class SearchService(Protocol):
    @property
    def name(self) -> str: ...

    async def search(self, query: SearchQuery, web: WebHandle) -> tuple[SearchResult, ...]:
        """The best first. Raises FetchError, and UsageError for a key that cannot be sent."""


def service_named(setting: str) -> SearchService:
    return Exa() if setting == EXA else SearXng(setting)


@dataclass(frozen=True)
class Exa:
    """A company's service: asked by its API, with a person's key."""

    name: str = EXA

    async def search(self, query: SearchQuery, web: WebHandle) -> tuple[SearchResult, ...]:
        key = web.key(EXA)
        if key is None:
            raise FetchError(
                "there is no key of Exa: a person can store one with `holdfast auth login exa`, or set EXA_API_KEY"
            )
        crawl = {"livecrawl": query.livecrawl} if query.livecrawl else {}
        contents = {"text": {"maxCharacters": max(1, query.characters // query.results)}, **crawl}
        wanted = {"query": query.text, "type": query.kind, "numResults": query.results, "contents": contents}
        request = FetchRequest(
            url=_EXA_URL,
            limit=_LIMIT,
            seconds=_SECONDS,
            https_only=True,
            secrets={"x-api-key": key},
            body=json.dumps(wanted).encode(),
        )
        return await _ask(web, request)


@dataclass(frozen=True)
class SearXng:
    """A server of one's own, which asks others; it needs no key."""

    address: str

    @property
    def name(self) -> str:
        return self.address

    async def search(self, query: SearchQuery, web: WebHandle) -> tuple[SearchResult, ...]:
        url = f"{self.address}/search?{urlencode({'q': query.text, 'format': 'json'})}"
        named = frozenset({parse_address(self.address).authority})
        found = await _ask(web, FetchRequest(url=url, limit=_LIMIT, seconds=_SECONDS, named=named))
        return found[: query.results]


async def _ask(web: WebHandle, request: FetchRequest) -> tuple[SearchResult, ...]:
    return await asyncio.to_thread(_parse, await web.fetch(request))


def _parse(found: Fetched) -> tuple[SearchResult, ...]:
    try:
        return _Answer.model_validate_json(found.content or b"").results
    except ValidationError:
        raise FetchError("its answer cannot be read as results of a search") from None
