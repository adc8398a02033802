"""A tool of any recovery class, whose effect is a line in a file: what happened is counted from outside."""

import asyncio
from pathlib import Path
from typing import Any

from activities.files.place import Place
from activities.tools.table import TOOLS
from activities.tools.tool import Output, Params, Plan, Surroundings, Tool
from workflows.domain.effects import Effect, Recovery


class ProbeParams(Params):
    """No arguments."""


def probe(kind: Recovery, error: Exception | None = None, gate: asyncio.Event | None = None) -> dict[str, Tool[Any]]:
    """The table of tools with `probe` in it, which after its effect waits for `gate` and raises `error`."""

    class Probe(Tool[ProbeParams]):
        """Leaves a trace, and answers or fails."""

        name = "probe"
        recovery = kind
        params = ProbeParams

        async def plan(self, params: ProbeParams, place: Place) -> Plan:
            return Plan(requests=(), effect=Effect(tool="probe", arguments={}, directory=str(place.directory)))

        async def run(self, params: ProbeParams, plan: Plan, around: Surroundings) -> Output:
            with (around.place.directory / "effects").open("a") as file:
                file.write(f"{around.attempt}\n")
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
