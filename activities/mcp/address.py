"""ServerAddress: which server is meant, and what its settings' references stand for when it is started."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from activities.project.config_references import resolve
from workflows.domain.config.mcp_settings import McpOAuth, McpServer

DEFAULT_LIMIT: Final = 30.0  # seconds of silence (opencode.md 10)


class Program(NamedTuple):
    argv: tuple[str, ...]
    environment: dict[str, str]
    directory: str


class RemoteServer(NamedTuple):
    """`client_secret`: of the client that is configured for its login."""

    url: str
    headers: dict[str, str]
    client_secret: str | None = None


class ServerAddress(NamedTuple):
    """What makes two servers one: sessions with the same share a connection. `directory`: the session's;
    `environment`: of its commands. `protocol`: as in `McpTrust`. `limit`: seconds of silence."""

    name: str
    settings: McpServer
    directory: str
    environment: tuple[tuple[str, str], ...] = ()
    protocol: str | None = None
    limit: float = DEFAULT_LIMIT

    @property
    def key(self) -> str:
        local = (self.directory, self.environment) if self.settings.type == "local" else ()
        text = repr((self.name, self.settings.model_dump(mode="json"), local, self.protocol, self.limit))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    async def program(self, environ: Mapping[str, str]) -> Program:
        """Raises ConfigError."""
        settings = self.settings
        own = {name: await resolve(text, environ) for name, text in settings.environment.items()}
        argv = [await resolve(word, environ) for word in settings.command]
        directory = str(Path(self.directory, await resolve(settings.cwd or "", environ)))
        return Program(tuple(argv), {**dict(self.environment), **own}, directory)

    async def endpoint(self, environ: Mapping[str, str]) -> RemoteServer:
        """Raises ConfigError."""
        headers = {name: await resolve(text, environ) for name, text in self.settings.headers.items()}
        oauth = self.settings.oauth
        secret = await _client_secret(oauth, environ) if oauth else None
        return RemoteServer(await resolve(self.settings.url or "", environ), headers, secret)


async def _client_secret(oauth: McpOAuth, environ: Mapping[str, str]) -> str | None:
    return await resolve(oauth.client_secret, environ) if oauth.client_secret else None
