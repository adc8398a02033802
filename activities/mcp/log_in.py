"""How a person logs in to a server: by the SDK's flow in a browser, which comes back to a local port."""

import asyncio
import html
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urljoin, urlsplit

import httpx2
from aiohttp import web
from mcp.client.auth.oauth2 import OAuthClientProvider
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl, SecretStr

from activities.credentials.logins import Login
from activities.mcp.address import RemoteServer
from workflows.domain.config.mcp_settings import McpOAuth
from workflows.domain.errors import ServerFailed

_PORT: Final = 19876  # OpenCode's (opencode.md 10)
_PATH: Final = "/mcp/oauth/callback"
_WAIT: Final = 300.0  # seconds for the person
_TIMEOUT: Final = 30.0  # seconds for each request

# Without a handler, the SDK's errors, which we tell in a sentence, would appear on a terminal with their tracebacks.
logging.getLogger("mcp").addHandler(logging.NullHandler())


class _Memory:
    """What the flow stores, for the time of the flow."""

    def __init__(self, client: OAuthClientInformationFull | None) -> None:
        self.client = client
        self.tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


async def log_in(server: RemoteServer, oauth: McpOAuth, show: Callable[[str], Awaitable[None]]) -> Login:
    """`show`: the address for the person's browser. Raises ServerFailed."""
    port = oauth.callback_port or _PORT
    redirect = oauth.redirect_uri or f"http://127.0.0.1:{port}{_PATH}"
    memory = _Memory(_configured_client(oauth, server.client_secret, redirect))
    metadata = OAuthClientMetadata(client_name="Holdfast", redirect_uris=[AnyUrl(redirect)], scope=oauth.scope)
    async with _callback(port, urlsplit(redirect).path) as answered:
        provider = OAuthClientProvider(server.url, metadata, memory, show, answered)
        try:
            async with (
                httpx2.AsyncClient(headers=server.headers, auth=provider, timeout=_TIMEOUT) as http,
                Client(streamable_http_client(server.url, http_client=http), cache=None),
            ):
                pass
        except TimeoutError:
            raise ServerFailed(f"Nobody has logged in within {_WAIT / 60:.0f} minutes.") from None
        except Exception as error:
            raise ServerFailed(_reason(error)) from error
    if memory.tokens is None or memory.client is None or memory.client.client_id is None:
        raise ServerFailed("The server asks for no login.")
    return _login(provider, memory.tokens, memory.client, server.url)


@asynccontextmanager
async def _callback(port: int, path: str) -> AsyncIterator[Callable[[], Awaitable[AuthorizationCodeResult]]]:
    """A server on loopback for the browser that comes back. Raises ServerFailed if the port is taken."""
    came: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()

    async def come_back(request: web.Request) -> web.Response:
        given = request.query
        problem = given.get("error_description") or given.get("error")
        if not came.done() and problem:
            came.set_exception(ServerFailed(f"The login was refused: {problem}."))
        elif not came.done():
            came.set_result(
                AuthorizationCodeResult(code=given.get("code", ""), state=given.get("state"), iss=given.get("iss"))
            )
        text = f"The login was refused: {html.escape(problem)}" if problem else "You can close this page."
        return web.Response(text=f"<!doctype html><title>Holdfast</title><p>{text}", content_type="text/html")

    app = web.Application()
    app.router.add_get(path or "/", come_back)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield lambda: asyncio.wait_for(came, _WAIT)
    except OSError as error:
        raise ServerFailed(f"The port {port}, to which the browser would come back, is taken.") from error
    finally:
        came.cancel()
        await runner.cleanup()


def _configured_client(oauth: McpOAuth, secret: str | None, redirect: str) -> OAuthClientInformationFull | None:
    if oauth.client_id is None:
        return None
    return OAuthClientInformationFull(
        client_id=oauth.client_id,
        client_secret=secret,
        redirect_uris=[AnyUrl(redirect)],
        token_endpoint_auth_method="client_secret_post" if secret else "none",
    )


def _login(provider: OAuthClientProvider, tokens: OAuthToken, client: OAuthClientInformationFull, url: str) -> Login:
    context = provider.context
    known = context.oauth_metadata
    where = str(known.token_endpoint) if known and known.token_endpoint else None
    secret = client.client_secret
    return Login(
        access_token=SecretStr(tokens.access_token),
        refresh_token=SecretStr(tokens.refresh_token) if tokens.refresh_token else None,
        ends_at=context.token_expiry_time,
        token_url=where or urljoin(context.get_authorization_base_url(url), "/token"),
        resource=context.get_resource_url() if context.protected_resource_metadata is not None else None,
        scope=tokens.scope,
        client=str(client.client_id),
        client_secret=SecretStr(secret) if secret else None,
        basic=client.token_endpoint_auth_method == "client_secret_basic",
    )


def _reason(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
