"""Prepared calls: what a model wanted to call, with names repaired, arguments read, and the effect looked at."""

import json
import math
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from pydantic import JsonValue

from activities.files.place import Place
from activities.mint import Mint
from activities.model.stream import CallPart
from activities.store.calls import NewCall
from activities.tools.arguments import validated
from activities.tools.planner.planner import Planner
from activities.tools.planning import planned
from activities.tools.tool import Tool
from workflows.domain.effects import Plan, input_digest
from workflows.domain.errors import ToolError
from workflows.domain.ids import PartId, Prefix

INVALID: Final = "invalid"
DEEPEST: Final = 100  # levels of arguments


class Preparer:
    """Makes ledger entries of the calls in an answer; reads the workspace, changes nothing."""

    def __init__(
        self, tools: Mapping[str, Tool[Any]], place: Place, mint: Mint, planner: Planner | None = None
    ) -> None:
        self.planner = planner
        self.tools = tools
        self.place = place
        self.mint = mint

    async def prepare(self, position: int, wanted: CallPart) -> NewCall:
        """One call; what cannot be called becomes a call of `invalid`, which tells the model what was wrong."""
        name, arguments = self.readable(wanted)
        if _depth(arguments) > DEEPEST:
            name, arguments = _invalid(name, f"Invalid input for tool {name}: nested deeper than {DEEPEST} levels")
        tool = self.tools[name]
        return NewCall(
            id=PartId(self.mint.new(Prefix.PART)),
            position=position,
            provider_id=wanted.id,
            tool=name,
            arguments=arguments,
            recovery=tool.recovery,
            plan=await self.plan(tool, arguments),
            loop=input_digest(name, arguments),
        )

    def readable(self, wanted: CallPart) -> tuple[str, dict[str, JsonValue]]:
        """Tool and arguments, or `invalid` and why (opencode.md 7.1)."""
        name = wanted.name if wanted.name in self.tools else wanted.name.lower()
        if name not in self.tools or name == INVALID:
            known = ", ".join(sorted(tool for tool in self.tools if tool != INVALID))
            return _invalid(
                wanted.name, f"Model tried to call unavailable tool '{wanted.name}'. Available tools: {known}."
            )
        try:
            arguments = json.loads(wanted.arguments or "{}", parse_constant=_refuse, parse_float=_finite)
        except (ValueError, RecursionError) as error:
            return _invalid(name, f"Invalid input for tool {name}: JSON parsing failed: {error}")
        if not isinstance(arguments, dict):
            return _invalid(name, f"Invalid input for tool {name}: a JSON object is expected, got {arguments!r:.200}")
        return name, arguments

    async def plan(self, tool: Tool[Any], arguments: dict[str, JsonValue]) -> Plan | None:
        """What the call would do now; None when that cannot be said, which running it will tell the model."""
        try:
            return await planned(tool, validated(tool, arguments), self.place, self.planner)
        except ToolError:
            return None


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _depth(value: JsonValue) -> int:
    """How deep arguments are nested; more than a little cannot be stored or checked."""
    level: list[JsonValue] = [value]
    depth = 0
    while level and depth <= DEEPEST:
        inner = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list)]
        level = [item for items in inner for item in items]
        depth += 1
    return depth


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _invalid(tool: str, problem: str) -> tuple[str, dict[str, JsonValue]]:
    return INVALID, {"tool": tool, "error": problem}
