"""A tool of any recovery class that appends a line to a file, so that its effects can be counted."""

import asyncio
from pathlib import Path
from typing import Any

from activities.tools.arguments import Params
from activities.tools.built_in_tool import BuiltInTool
from activities.tools.registry import TOOLS
from activities.tools.tool import Output, Plan, Tool, ToolContext
from activities.turn_context import TurnContext
from workflows.domain.effects import Effect, Recovery


class ProbeParams(Params):
    """No arguments."""


def probe(kind: Recovery, error: Exception | None = None, gate: asyncio.Event | None = None) -> dict[str, Tool[Any]]:
    """The tools with `probe`, which after its effect waits for `gate` and raises `error`."""

    class Probe(BuiltInTool[ProbeParams]):
        """Leaves its line, and answers or fails."""

        name = "probe"
        recovery = kind
        params = ProbeParams

        async def plan(self, params: ProbeParams, turn: TurnContext) -> Plan:
            return Plan(requests=(), effect=Effect(tool="probe", arguments={}, directory=str(turn.workspace.directory)))

        async def run(self, params: ProbeParams, plan: Plan, context: ToolContext) -> Output:
            with (context.workspace.directory / "effects").open("a") as file:
                file.write(f"{context.attempt}\n")
            if gate is not None:
                await gate.wait()
            if error is not None:
                raise error
            return Output(title="probe", output="done")

    return {**TOOLS, "probe": Probe()}


def effects(project: Path) -> list[str]:
    """The attempts that had an effect, in order."""
    file = project / "effects"
    return file.read_text().split() if file.exists() else []
