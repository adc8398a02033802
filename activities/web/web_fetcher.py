"""WebFetcher: gets what is at an address, from where it may (security.md 7)."""

import asyncio
import socket
import urllib.request
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from urllib.parse import urljoin

import httpx

from activities.model.endpoint import ENVIRONMENT
from activities.model.wires.http_client import trusted_authorities
from activities.own_thread import on_own_thread
from activities.web.fetch_request import Fetched, FetchRequest
from activities.web.web_address import WebAddress, parse_address
from workflows.domain.errors import FetchError, UsageError

_MAX_REDIRECTS: Final = 5
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_NOT_MODIFIED: Final = 304
_MAX_PROBLEM: Final = 300  # characters: it may quote what the server has sent
_MAX_VALIDATOR: Final = 1024  # characters
_GZIP: Final = 16 + zlib.MAX_WBITS
_AGENT: Final = "holdfast"


class Network:
    """This machine's names and ways."""

    async def resolve(self, host: str, port: int) -> list[str]:
        """Raises OSError."""
        look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        found = await asyncio.wrap_future(on_own_thread(look_up))  # a pool's threads would wait for a lost name server
        return list(dict.fromkeys(str(each[4][0]) for each in found))

    def dial(self, ip: str, port: int) -> tuple[str, int]:
        """Where a connection to this address is made."""
        return ip, port

    def proxy(self, address: WebAddress) -> str | None:
        """By HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY."""
        if urllib.request.proxy_bypass(address.authority):
            return None
        proxies = urllib.request.getproxies()
        found = proxies.get(address.scheme) or proxies.get("all")
        return found if found is None or "://" in found else f"http://{found}"


@dataclass(frozen=True)
class WebFetcher:
    """`environment`: of this process, for more authorities. `may_fetch`: what rules say of each address on the way."""

    environment: Mapping[str, str]
    network: Network = Network()
    may_fetch: Callable[[str], bool] = lambda url: True

    async def fetch(self, request: FetchRequest) -> Fetched:
        """Fetch an address, without cookies and credentials. Raises FetchError."""
        try:
            async with asyncio.timeout(request.seconds):
                return await self._follow(request)
        except TimeoutError:
            raise FetchError(f"it was not there within {request.seconds:g} seconds") from None
        except UsageError as error:
            raise FetchError(str(error).rstrip(".")) from None
        except (
            httpx.HTTPError,
            httpx.InvalidURL,
            OSError,
            zlib.error,
            ValueError,
        ) as error:  # also of names and headers
            raise FetchError((str(error) or type(error).__name__)[:_MAX_PROBLEM].rstrip(".")) from None

    async def _follow(self, request: FetchRequest) -> Fetched:
        address = parse_address(request.url)
        for _ in range(_MAX_REDIRECTS + 1):
            if request.https_only and address.scheme != "https":
                raise FetchError(f"{address.url} is not fetched without TLS: write https")
            if not self.may_fetch(address.url):
                raise FetchError(f"your rules deny webfetch of {address.url}")
            async with self._response(address, request) as response:
                if response.status_code not in _REDIRECTS:
                    return await _read(address, response, request)
                address = _next(address, response)
                if request.secrets or request.body is not None:
                    raise FetchError(f"it leads on to {address.url}, which was not asked for")
        raise FetchError(f"it leads on more than {_MAX_REDIRECTS} times")

    @asynccontextmanager
    async def _response(self, address: WebAddress, request: FetchRequest) -> AsyncIterator[httpx.Response]:
        proxy = self.network.proxy(address)
        ips = await self._checked_ips(address, request.named, needed=proxy is None)
        options: dict[str, Any] = {"proxy": proxy, "trust_env": False, "timeout": request.seconds, "verify": False}
        if address.scheme == "https" or proxy is not None:
            options["verify"] = await asyncio.to_thread(trusted_authorities, ENVIRONMENT, self.environment)
        try:
            opened = httpx.AsyncClient(**options)
        except (ImportError, ValueError):  # may quote a password
            raise FetchError("the proxy in HTTPS_PROXY, HTTP_PROXY or ALL_PROXY cannot be used") from None
        async with opened as client:
            response = await self._send(client, address, ips if proxy is None else [], request)
            try:
                yield response
            finally:
                await response.aclose()

    async def _send(
        self, client: httpx.AsyncClient, address: WebAddress, ips: list[str], request: FetchRequest
    ) -> httpx.Response:
        """To the addresses that were checked, by no name that could lead elsewhere now; without `ips`, by the proxy."""
        build = partial(
            client.build_request,
            "GET" if request.body is None else "POST",
            headers=_headers(address, request),
            content=request.body,
        )
        if not ips:
            return await client.send(build(address.url), stream=True)
        for place, ip in enumerate(ips, 1):
            host, port = self.network.dial(ip, address.port)
            url = httpx.URL(f"{address.scheme}://{f'[{host}]' if ':' in host else host}:{port}{address.path}")
            sent = build(url, extensions={"sni_hostname": address.host})
            try:
                return await client.send(sent, stream=True)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                if place == len(ips):
                    raise
        raise FetchError("its host has no address")

    async def _checked_ips(self, address: WebAddress, named: frozenset[str], *, needed: bool) -> list[str]:
        """`needed`: without a proxy, which knows names that this machine does not."""
        address.check(named)
        try:
            ips = [address.host] if address.is_ip else await self.network.resolve(address.host, address.port)
        except OSError as error:
            if needed:
                raise FetchError(f"there is no host {address.host} ({error.strerror or error})") from None
            return []
        address.check(named, ips)
        return ips


def _headers(address: WebAddress, request: FetchRequest) -> dict[str, str]:
    headers = {
        "host": address.authority,
        "accept": request.accept,
        "accept-encoding": "gzip",
        "user-agent": _AGENT,
        **({} if request.body is None else {"content-type": "application/json"}),
        **{name: value.get_secret_value() for name, value in request.secrets.items()},
    }
    known = {"if-none-match": request.etag, "if-modified-since": request.modified}
    return headers | {name: value for name, value in known.items() if value is not None}


def _next(address: WebAddress, response: httpx.Response) -> WebAddress:
    following = parse_address(urljoin(address.url, response.headers.get("location", "")))
    if address.scheme == "https" and following.scheme != "https":
        raise FetchError(f"it leads on to {following.url}, without TLS")
    return following


async def _read(address: WebAddress, response: httpx.Response, request: FetchRequest) -> Fetched:
    headers = response.headers
    found = {
        "url": address.url,
        "media_type": headers.get("content-type", "").partition(";")[0].strip().lower(),
        "charset": response.charset_encoding,
        "etag": _validator(headers.get("etag")),
        "modified": _validator(headers.get("last-modified")),
    }
    if response.status_code == _NOT_MODIFIED and (request.etag or request.modified):
        return Fetched(content=None, **found)
    if response.status_code != 200:
        raise FetchError(f"the server answered with {response.status_code}")
    length = headers.get("content-length", "")
    if length.isascii() and length.isdigit() and int(length) > request.limit:
        raise FetchError(_too_long(request.limit))
    return Fetched(content=await _content(response, request.limit), **found)


def _validator(written: str | None) -> str | None:
    """The header's value; None if it could not be sent back."""
    usable = written is not None and len(written) <= _MAX_VALIDATOR and written.isascii() and written.isprintable()
    return written if usable else None


async def _content(response: httpx.Response, limit: int) -> bytes:
    """Unpacked piece by piece: few bytes may become many."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise FetchError(f"it comes in the encoding {encoding[:50]!r}, and gzip only was asked for")
    unpacking = zlib.decompressobj(_GZIP) if encoding.endswith("gzip") else None
    content = bytearray()
    async for piece in response.aiter_raw():
        await asyncio.sleep(0)  # thousands of pieces may be there at once
        content += piece if unpacking is None else unpacking.decompress(piece, limit + 1 - len(content))
        if len(content) > limit:
            raise FetchError(_too_long(limit))
        if unpacking is not None and unpacking.eof:
            break
    if unpacking is not None and not unpacking.eof:
        raise FetchError("its end is missing")
    return bytes(content)


def _too_long(limit: int) -> str:
    return f"it has more than {limit // 1024:,} KiB"
