"""McpConnections: a worker's servers, each started when a turn may use it, shared by sessions, ended when unused."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Self

from activities.credentials.logins import Logins
from activities.mcp.address import ServerAddress

if TYPE_CHECKING:
    from activities.mcp.connection import Connection


class McpConnections:
    """`environ` resolves references of the settings, each time that a server is started. `logins`: the file of what
    people have logged in to. `redact`: as in `Connection`."""

    def __init__(
        self, environ: Mapping[str, str], logins: Path, redact: Callable[[str], str] = lambda text: text
    ) -> None:
        self._environ = environ
        self._redact = redact
        self._logins = Logins(logins)
        self._connections: dict[str, Connection] = {}

    def to(self, address: ServerAddress) -> "Connection":
        """The connection, which starts if there is none."""
        from activities.mcp.clients import ways_to  # memory: for whom has servers only
        from activities.mcp.connection import Connection

        found = self._connections.get(address.key)
        if found is None:
            ways = ways_to(address, self._environ, self._logins)
            found = Connection(address.name, ways, limit=address.limit, redact=self._redact)
            self._connections[address.key] = found
        return found

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """End all servers."""
        connections, self._connections = self._connections, {}
        await asyncio.gather(*(each.close() for each in connections.values()))
