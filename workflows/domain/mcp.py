"""What servers of the Model Context Protocol offer, and how they are."""

import hashlib
import re
from enum import StrEnum
from typing import Final

from pydantic import JsonValue

from workflows.domain.effects import Recovery
from workflows.domain.reminder_tags import escape_reminders
from workflows.domain.tool_offer import ToolOffer
from workflows.domain.value import Value

_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]")
_MAX_DESCRIPTION: Final = 8_000  # characters of a tool's description for models
_MAX_NAME: Final = 64  # characters that all providers take


class McpStatus(StrEnum):
    """OpenCode's words, and `connecting`."""

    CONNECTING = "connecting"
    CONNECTED = "connected"
    DISABLED = "disabled"
    FAILED = "failed"
    NEEDS_AUTH = "needs_auth"


class ServerTool(Value):
    """A tool by its server's name for it. The hints are the server's claims."""

    name: str
    description: str = ""
    parameters: dict[str, JsonValue]
    output_schema: dict[str, JsonValue] | None = None
    read_only: bool = False
    idempotent: bool = False

    @property
    def shown_description(self) -> str:
        """For models: bounded, and no reminder of ours."""
        return escape_reminders(self.description[:_MAX_DESCRIPTION])


class ServerPrompt(Value):
    """`arguments`: their names, in order."""

    name: str
    description: str = ""
    arguments: tuple[str, ...] = ()


class Catalogue(Value):
    """What a connected server offers."""

    tools: tuple[ServerTool, ...] = ()
    prompts: tuple[ServerPrompt, ...] = ()
    has_resources: bool = False
    instructions: str = ""
    version: str = ""
    """The server's own name and version."""
    protocol: str = ""
    """The version of the protocol that both speak."""


class OfferedTool(ToolOffer):
    """A server's tool as a turn has it. `tool`: the server's own name for it. `looks`: it says that it only reads,
    which counts for the order of calls alone; `recovery` says what a later attempt may do. `local`: its server is a
    program on this machine."""

    server: str
    tool: str
    recovery: Recovery = Recovery.ONCE
    looks: bool = False
    local: bool = False

    @property
    def offer(self) -> ToolOffer:
        return ToolOffer(name=self.name, description=self.description, parameters=self.parameters)

    @property
    def digest(self) -> str:
        """Of its definition: another one is another tool."""
        return hashlib.sha256(self.model_dump_json().encode("utf-8", "surrogatepass")).hexdigest()


class TurnServer(Value):
    """A server as a turn has found it. `reason`: why it is not connected."""

    name: str
    status: McpStatus
    reason: str = ""
    instructions: str = ""

    @property
    def described(self) -> str:
        return f"{self.status} ({self.reason})" if self.reason else self.status.value


def tool_name(server: str, tool: str) -> str:
    """The name under which models call it (opencode.md 10); a longer one than providers take ends in a digest."""
    name = "_".join(_NOT_IN_NAMES.sub("_", each) for each in (server, tool))
    return (
        name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    )


def offer_tools(server: str, catalogue: Catalogue, *, trusted: bool, local: bool) -> tuple[OfferedTool, ...]:
    """`trusted`: a person believes what the server says of its tools."""
    return tuple(
        OfferedTool(
            name=tool_name(server, tool.name),
            description=tool.shown_description,
            parameters=tool.parameters,
            server=server,
            tool=tool.name,
            recovery=_recovery(tool) if trusted else Recovery.ONCE,
            looks=tool.read_only,
            local=local,
        )
        for tool in catalogue.tools
    )


def _recovery(tool: ServerTool) -> Recovery:
    if tool.read_only:
        return Recovery.REPEATABLE
    return Recovery.IDEMPOTENT if tool.idempotent else Recovery.ONCE
