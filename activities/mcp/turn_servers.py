"""The servers that a turn has, and the tools that it is offered of them, frozen for it."""

import asyncio
import json
from collections.abc import Iterable, Mapping
from typing import Final

from activities.mcp.address import DEFAULT_LIMIT, ServerAddress
from activities.mcp.connections import McpConnections
from activities.shell.environment import CALL_VARIABLE
from activities.tools.registry import TOOLS
from workflows.domain.config.config import Config
from workflows.domain.config.mcp_settings import McpServer, McpTrust
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import ServerFailed
from workflows.domain.mcp import McpStatus, OfferedTool, TurnServer, offer_tools
from workflows.domain.output_format import STRUCTURED_OUTPUT

_MAX_SCHEMA: Final = 100_000  # characters: each request has it


def address_of(name: str, turn_config: TurnConfig, environment: Mapping[str, str]) -> ServerAddress:
    """`environment`: of the session's commands."""
    config = turn_config.config
    settings, known = config.mcp[name], config.holdfast.mcp.get(name, McpTrust())
    milliseconds = settings.timeout or config.experimental.mcp_timeout
    return ServerAddress(
        name=name,
        settings=settings,
        directory=turn_config.directory,
        environment=tuple(sorted((key, value) for key, value in environment.items() if key != CALL_VARIABLE)),
        protocol=known.protocol,
        limit=milliseconds / 1000 if milliseconds else DEFAULT_LIMIT,
    )


async def with_servers(
    turn_config: TurnConfig, environment: Mapping[str, str], connections: McpConnections
) -> TurnConfig:
    """With the servers of its configuration as they are now, and the tools of those that are connected."""
    looks = (_look(name, turn_config, environment, connections) for name in turn_config.config.mcp)
    found = await asyncio.gather(*looks)
    servers = tuple(server for server, _ in found)
    tools, lost = _by_name(tool for _, each in found for tool in each)
    warnings = tuple(f"The tool {each.tool!r} of the server {each.server!r} is left out: {why}" for each, why in lost)
    return turn_config.model_copy(
        update={"servers": servers, "foreign_tools": tools, "warnings": (*turn_config.warnings, *warnings)}
    )


async def _look(
    name: str, turn_config: TurnConfig, environment: Mapping[str, str], connections: McpConnections
) -> tuple[TurnServer, tuple[OfferedTool, ...]]:
    settings = turn_config.config.mcp[name]
    if not settings.enabled:
        return TurnServer(name=name, status=McpStatus.DISABLED), ()
    connection = connections.to(address_of(name, turn_config, environment))
    try:
        catalogue = await connection.peek()
    except ServerFailed as error:
        return TurnServer(name=name, status=connection.status, reason=str(error)), ()
    known = turn_config.config.holdfast.mcp.get(name, McpTrust())
    offered = offer_tools(name, catalogue, trusted=known.trusted, local=settings.type == "local")
    return TurnServer(name=name, status=McpStatus.CONNECTED, instructions=catalogue.instructions), offered


def _by_name(offered: Iterable[OfferedTool]) -> tuple[tuple[OfferedTool, ...], list[tuple[OfferedTool, str]]]:
    """Each name once; what is lost, and why."""
    found, lost = dict[str, OfferedTool](), list[tuple[OfferedTool, str]]()
    for each in offered:
        if each.name in TOOLS or each.name == STRUCTURED_OUTPUT:
            lost.append((each, f"Holdfast's own tool is called {each.name!r}, too."))
        elif each.name in found:
            lost.append((each, f"one of the server {found[each.name].server!r} is called {each.name!r}, too."))
        elif len(json.dumps(each.parameters)) > _MAX_SCHEMA:
            lost.append((each, f"its schema has more than {_MAX_SCHEMA:,} characters."))
        else:
            found[each.name] = each
    return tuple(found.values()), lost


def describe_server(name: str, config: Config) -> str:
    """For a person: the program or the address, with references as they are written."""
    settings = config.mcp.get(name, McpServer(enabled=False))
    return f"{name} ({' '.join(settings.command) or settings.url or 'not configured any more'})"
