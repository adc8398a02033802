"""The servers of tools in a directory, as its next turn would find them."""

from dataclasses import dataclass
from pathlib import Path

from activities.mcp.address import RemoteServer, ServerAddress
from activities.mcp.connections import McpConnections
from activities.mcp.turn_servers import address_of, with_servers
from activities.shell.environment import session_environment, tool_environment
from worker.credential_handoff import CredentialEnvironment
from worker.project_config import find_project, load_project_config
from worker.redaction import redactor
from worker.settings import Settings
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import NotFound, UsageError
from workflows.domain.mcp import OfferedTool, TurnServer


@dataclass(frozen=True)
class ListedServer:
    """`what`: its program or address, as it is written."""

    server: TurnServer
    what: str
    tools: tuple[OfferedTool, ...] = ()


async def list_servers(settings: Settings, directory: Path) -> tuple[list[ListedServer], TurnConfig]:
    """Starts them for the look, with this shell's variables. Raises UsageError."""
    turn_config = await load_project_config(settings, directory)
    environment = _environment(settings, directory)
    secrets = redactor(settings)
    async with McpConnections(CredentialEnvironment(settings), settings.mcp_logins, secrets.text) as connections:
        found = await with_servers(turn_config, environment, connections)
    listed = []
    for server in found.servers:
        known = found.config.mcp[server.name]
        tools = tuple(each for each in found.foreign_tools if each.server == server.name)
        listed.append(ListedServer(server, " ".join(known.command) or known.url or "", tools))
    return listed, found


async def find_address(settings: Settings, directory: Path, name: str) -> tuple[ServerAddress, RemoteServer]:
    """Of a remote server. Raises NotFound, UsageError."""
    turn_config = await load_project_config(settings, directory)
    if (known := turn_config.config.mcp.get(name)) is None:
        names = ", ".join(sorted(turn_config.config.mcp)) or "none"
        raise NotFound(f"No server {name!r} is configured here: {names}.")
    if known.type != "remote":
        raise UsageError(f"The server {name!r} is a program on this machine: it has no login.")
    address = address_of(name, turn_config, {})
    return address, await address.endpoint(CredentialEnvironment(settings))


def _environment(settings: Settings, directory: Path) -> dict[str, str]:
    return tool_environment(session_environment(settings.environment), find_project(settings, directory), "")
