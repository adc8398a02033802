"""invalid tells a model what was wrong with its call."""

from activities.files.workspace import Workspace
from activities.tools.invalid import InvalidParams, InvalidTool
from activities.turn_context import TurnContext
from tests.activities.tools.tool_calls import make_context


async def test_nothing_is_asked_and_the_error_is_told(workspace: Workspace) -> None:
    params = InvalidParams(tool="nope", error="Model tried to call unavailable tool 'nope'.")
    plan = await InvalidTool().plan(params, TurnContext(workspace))
    output = await InvalidTool().run(params, plan, make_context(workspace))
    assert plan.requests == ()
    assert output.title == "Invalid Tool"
    assert output.output == (
        "The arguments provided to the tool are invalid: Model tried to call unavailable tool 'nope'."
    )
