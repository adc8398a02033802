"""invalid: stands for a call without a known tool or valid JSON, so that the model can correct it."""

from typing import Final

from activities.tools.arguments import Params
from activities.tools.built_in_tool import BuiltInTool
from activities.tools.tool import Output, Plan, ToolContext
from activities.turn_context import TurnContext
from workflows.domain.call_display import CallDisplay, DisplayKind
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.effects import Effect, Recovery

INVALID: Final = "invalid"


class InvalidParams(Params):
    tool: str
    error: str


class InvalidTool(BuiltInTool[InvalidParams]):
    """Never offered to a model, never asked about."""

    name = INVALID
    recovery = Recovery.REPEATABLE
    params = InvalidParams
    display = CallDisplay(kind=DisplayKind.INVALID, subject="error", name="tool")

    def offer(self, turn_config: TurnConfig) -> None:
        return None

    async def plan(self, params: InvalidParams, turn: TurnContext) -> Plan:
        effect = Effect(
            tool=self.name, arguments=params.model_dump(mode="json"), directory=str(turn.workspace.directory)
        )
        return Plan(requests=(), effect=effect)

    async def run(self, params: InvalidParams, plan: Plan, context: ToolContext) -> Output:
        text = f"The arguments provided to the tool are invalid: {params.error}"
        return Output(title="Invalid Tool", output=text)
