"""question: what the model gets to know of the answers."""

import pytest
from pydantic import JsonValue

from activities.files.workspace import Workspace
from activities.tools.question import QuestionTool
from activities.turn_context import TurnContext
from tests.activities.tools.tool_calls import make_context
from workflows.domain.agents.delegation import Delegation
from workflows.domain.config.config import Config
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.errors import ToolError
from workflows.domain.permissions.rulesets import Rulesets
from workflows.domain.questions import Answers

ASKED: dict[str, JsonValue] = {
    "questions": [
        {"question": "Which base?", "header": "Base", "options": [{"label": "A", "description": "a"}]},
        {"question": "What else?", "header": "Rest", "options": [], "custom": False},
    ]
}


async def test_the_model_reads_each_question_with_its_answer(workspace: Workspace) -> None:
    tool = QuestionTool()

    async def answers() -> Answers:
        return (("A", "and B"), ())

    params = tool.parse(ASKED)
    plan = await tool.plan(params, TurnContext(workspace))
    output = await tool.run(params, plan, make_context(workspace, answers=answers))

    assert output.output == (
        'User has answered your questions: "Which base?"="A, and B", "What else?"="Unanswered". '
        "You can now continue with the user's answers in mind."
    )
    assert (output.title, output.metadata) == ("Asked 2 questions", {"answers": [["A", "and B"], []]})
    assert [question.custom for question in plan.questions] == [True, True]
    with pytest.raises(ToolError, match="No answer"):
        await tool.run(params, plan, make_context(workspace))


@pytest.mark.parametrize(("ancestors", "offered"), [(0, True), (1, False)])
def test_no_subagent_is_offered_it(ancestors: int, offered: bool) -> None:
    delegation = Delegation(ancestors=ancestors)
    turn = TurnConfig(directory="/", worktree=None, config=Config(), rules=Rulesets(), delegation=delegation)
    assert (QuestionTool().offer(turn) is not None) is offered
