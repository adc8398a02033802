"""The wires' HTTP client and its connections."""

import logging
import ssl
from collections.abc import AsyncIterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeVar

from activities.model.endpoint import ENVIRONMENT, EXTRA_AUTHORITIES, Route
from activities.model.provider_files import ProviderFile
from activities.model.wires.http_library import httpx
from workflows.domain.errors import UsageError

_CONNECTIONS: Final = 1000
_IDLE_CONNECTIONS: Final = 100
_OF_LIBRARY: Final = b"x-stainless-"  # OpenAI's client describes itself and this machine in such headers
_LOG: Final = logging.getLogger("holdfast.model")

_Client = TypeVar("_Client", httpx.Client, "BodyReleasingClient")


def trusted_authorities(route: Route, environment: Mapping[str, str]) -> ssl.SSLContext:
    """Trusts those of this process's environment, and the route's. Raises UsageError for files that hold none."""
    try:
        trusted = httpx.create_ssl_context()
        _trust_extra(trusted, environment.get(EXTRA_AUTHORITIES))
        if route.ca_file:
            _trust_file(trusted, route.ca_file)
    except (OSError, ValueError) as error:
        named = repr(route.ca_file.path) if route.ca_file else "SSL_CERT_FILE or SSL_CERT_DIR"
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"Certificates cannot be read from {named}: {reason}.") from None
    if route.cert_file:
        _show_certificate(trusted, route.cert_file, route.key_file)
    return trusted


def _show_certificate(context: ssl.SSLContext, certificate: ProviderFile, key: ProviderFile | None) -> None:
    """Raises UsageError for files that cannot be read, and for a key with a password or of another certificate."""
    with TemporaryDirectory(prefix="holdfast-certificate-") as folder:  # OpenSSL reads files only
        try:
            private = _file_of(key, folder) if key else None
            context.load_cert_chain(_file_of(certificate, folder), private, password=lambda: b"")
        except (OSError, ValueError) as error:
            named = " and ".join(repr(each.path) for each in (certificate, key) if each)
            reason = getattr(error, "strerror", None) or error
            raise UsageError(f"The certificate and its key cannot be read from {named}: {reason}.") from None


def _file_of(file: ProviderFile, folder: str) -> str:
    if file.content is None:
        return file.path
    copy = Path(folder, file.path.replace("/", "_"))
    copy.touch(0o600)
    copy.write_bytes(file.read())
    return str(copy)


def _trust_file(trusted: ssl.SSLContext, file: ProviderFile) -> None:
    if file.content is None:
        trusted.load_verify_locations(file.path)
    else:  # comments may hold other letters
        trusted.load_verify_locations(cadata=file.read().decode("ascii", "ignore"))


def open_client(kind: type[_Client], route: Route, environment: Mapping[str, str], options: dict[str, Any]) -> _Client:
    """A client that takes this route, in this process's environment. Raises UsageError, without quoting what may hold a
    password."""
    trusted = trusted_authorities(route, environment)
    proxy = route.proxy.get_secret_value() if route.proxy else None
    try:
        return kind(verify=trusted, proxy=proxy, **options)
    except (ValueError, ImportError, httpx.InvalidURL):
        where = "the option `proxy`" if proxy else "HTTPS_PROXY, HTTP_PROXY or ALL_PROXY"
        raise UsageError(f"The proxy in {where} cannot be used: write it as http://host:port.") from None


def _trust_extra(trusted: ssl.SSLContext, file: str | None) -> None:
    """A file that cannot be read is ignored, as Node does: the variable is set for other programs too."""
    try:
        if file:
            trusted.load_verify_locations(file)
    except (OSError, ssl.SSLError) as error:
        _LOG.warning("%s is ignored: %r: %s", EXTRA_AUTHORITIES, file, error.strerror or error)


@lru_cache(maxsize=256)
def _parse_address(url: str) -> httpx.URL:
    return httpx.URL(url)


class BodyReleasingClient(httpx.AsyncClient):
    """Keeps a request's body only until the response's headers arrive, and sends no library's own headers.

    httpx links requests and responses in reference cycles: megabytes would wait for the garbage collector.
    """

    def build_post(self, url: str, headers: Mapping[str, str], body: tuple[bytes, ...]) -> httpx.Request:
        """A request that can let go of its body: `build_request` would wrap that. `headers`: by names in lower case."""
        address = _parse_address(url)
        host, length = address.netloc.decode("ascii"), str(sum(map(len, body)))
        named = {"host": host, **self._usual_headers, **headers, "content-length": length}
        return httpx.Request("POST", address, headers=named, cookies=self.cookies, stream=_ReleasableBody(body))

    @cached_property
    def _usual_headers(self) -> Mapping[str, str]:
        return dict(self.headers)

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        if isinstance(request.stream, _ReleasableBody):
            return await self._send(request, request.stream, options)
        body = _ReleasableBody((await request.aread(),))
        headers = [(name, value) for name, value in request.headers.raw if not name.lower().startswith(_OF_LIBRARY)]
        released = httpx.Request(
            request.method, request.url, headers=headers, stream=body, extensions=request.extensions
        )
        response = await self._send(released, body, options)
        response.request.headers.update(request.headers)  # OpenAI's client reads there how it is to read the response
        return response

    async def _send(self, request: httpx.Request, body: "_ReleasableBody", options: dict[str, Any]) -> httpx.Response:
        try:
            return await super().send(request, **options)
        finally:
            body.release()


class _ReleasableBody(httpx.AsyncByteStream):
    """Can be sent until released."""

    def __init__(self, pieces: tuple[bytes, ...]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece

    def release(self) -> None:
        self._pieces = ()


class Connections:
    """Connections to providers, kept open between requests; `StreamTimeouts` watches their silences."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._clients: dict[Route, BodyReleasingClient] = {}

    def client(self, route: Route = ENVIRONMENT) -> BodyReleasingClient:
        """A new one after `close`. Raises UsageError for a route that cannot be taken."""
        if route not in self._clients:
            limits = httpx.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=_IDLE_CONNECTIONS)
            # no redirect is followed: prompts and configured headers would go to whatever host it names
            options: dict[str, Any] = {"timeout": None, "limits": limits, "follow_redirects": False}
            self._clients[route] = open_client(BodyReleasingClient, route, self._environment, options)
        return self._clients[route]

    async def close(self) -> None:
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.aclose()
