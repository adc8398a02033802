"""Agents as people write them for other programs: lists of tools, fields that mean nothing here."""

from collections.abc import Iterator
from typing import Final

from pydantic import JsonValue

from workflows.domain.config.fields import AGENT_FIELDS, OPTION_FIELDS, JsonObject
from workflows.domain.config.lost_rules import similar_field
from workflows.domain.permissions.permission_keys import OF_TOOLS, permissions_of_tool

_ALL: Final = "*"
_INHERIT: Final = "inherit"  # the model of the session


def normalize_agent(agent: JsonObject) -> JsonObject:
    """An agent whose list of tools is the older map that denies all others: one's own rules for those of the list hold.
    Without a model where it names the session's."""
    kept = {key: value for key, value in agent.items() if (key, value) != ("model", _INHERIT)}
    if (names := _tool_names(agent.get("tools"))) is None:
        return kept
    offered = {permission for name in names for permission in permissions_of_tool(name)}
    denied = () if _ALL in names else (each for each in OF_TOOLS if each not in offered)
    return {**kept, "tools": dict.fromkeys(denied, False)}


def find_ineffective(tree: JsonObject) -> Iterator[str]:
    """What of the agents in a file, as it is written, has no effect."""
    for table in (tree.get("agent"), tree.get("mode")):
        for name, agent in table.items() if isinstance(table, dict) else ():
            if isinstance(agent, dict):
                yield from _ineffective_fields(name, [*agent.keys() - AGENT_FIELDS - OPTION_FIELDS])
                tools = [each for each in _tool_names(agent.get("tools")) or () if each != _ALL]
                if unknown := [each for each in tools if not permissions_of_tool(each)]:
                    yield f"the agent {name!r} lists tools that there are not: {', '.join(map(repr, unknown))}."


def _ineffective_fields(agent: str, fields: list[str]) -> Iterator[str]:
    if fields:
        named = ", ".join(map(repr, sorted(fields)))
        meant = "".join(f" Is {near!r} meant?" for each in sorted(fields) if (near := similar_field(each)))
        yield f"the agent {agent!r} has no field {named}: without effect. For a provider, write into 'options'.{meant}"


def _tool_names(tools: JsonValue) -> list[str] | None:
    """Of `Read, Grep`, or the same in brackets; None for anything else."""
    if isinstance(tools, str):
        return [each.strip() for each in tools.split(",") if each.strip()]
    return [str(each) for each in tools] if isinstance(tools, list) else None
