"""invalid: stands for a call without a known tool or valid JSON, so that the model can correct it."""

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from activities.tools.arguments import Params
from activities.tools.built_in_tool import BuiltInTool
from activities.tools.tool import Output, Plan, ToolContext
from activities.turn_context import TurnContext
from prompts import render_prompt
from workflows.domain.call_display import CallDisplay, DisplayKind
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.effects import Effect, Recovery

INVALID: Final = "invalid"


class InvalidParams(Params):
    """`arguments`: as the model wrote them, for it to mend. `cut`: by the limit of the answer."""

    tool: str
    error: str
    arguments: str = ""
    cut: bool = False


class InvalidTool(BuiltInTool[InvalidParams]):
    """Never offered to a model, never asked about."""

    name = INVALID
    recovery = Recovery.REPEATABLE
    params = InvalidParams
    display = CallDisplay(kind=DisplayKind.INVALID, subject="error", name="tool")

    def offer(self, turn_config: TurnConfig) -> None:
        return None

    async def plan(self, params: InvalidParams, turn: TurnContext) -> Plan:
        arguments = params.model_dump(mode="json", exclude_defaults=True)
        effect = Effect(tool=self.name, arguments=arguments, directory=str(turn.workspace.directory))
        return Plan(requests=(), effect=effect)

    async def run(self, params: InvalidParams, plan: Plan, context: ToolContext) -> Output:
        text = f"The arguments provided to the tool are invalid: {params.error}"
        return Output(title="Invalid Tool", output=render_prompt("tools/cut") if params.cut else text)


def is_cut(tool: str, arguments: Mapping[str, JsonValue]) -> bool:
    """Whether it stands for a call that the limit of its answer has cut."""
    return tool == INVALID and arguments.get("cut") is True
