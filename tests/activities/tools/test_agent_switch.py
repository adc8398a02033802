"""plan_enter and plan_exit: to whom they are offered, and what follows from the answer."""

import pytest

from activities.files.workspace import Workspace
from activities.tools.registry import TOOLS
from activities.tools.tool import Output
from activities.turn_context import TurnContext
from tests.activities.tools.tool_calls import make_context
from workflows.domain.agents.agent import Agent
from workflows.domain.agents.built_in import BUILD, EXPLORE, PLAN
from workflows.domain.agents.delegation import Delegation
from workflows.domain.config.config import Config
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.permissions.rulesets import Rulesets
from workflows.domain.prompt import Prompt, PromptMode
from workflows.domain.questions import Answers, answers_problem

EXIT = TOOLS["plan_exit"]


@pytest.mark.parametrize(
    ("agent", "known", "ancestors", "offered"),
    [
        (PLAN, (BUILD, PLAN), 0, True),
        (BUILD, (BUILD, PLAN), 0, False),
        (PLAN, (PLAN,), 0, False),
        (EXPLORE, (BUILD, EXPLORE), 1, False),
    ],
)
def test_it_is_offered_where_another_agent_can_take_over(
    agent: Agent, known: tuple[Agent, ...], ancestors: int, offered: bool
) -> None:
    delegation = Delegation(agents=known, ancestors=ancestors)
    named = {"rules": Rulesets(), "agent": agent, "delegation": delegation}
    turn = TurnConfig(directory="/", worktree=None, config=Config(), **named)

    assert (EXIT.offer(turn) is not None) is offered


@pytest.mark.parametrize(
    ("answer", "follows", "read"),
    [
        ("Yes", ["build"], "A turn of the agent build follows"),
        ("No", [], "The user does not want that."),
        ("Split it in two", [], "Split it in two"),
    ],
)
async def test_a_yes_is_a_prompt_for_the_other_agent(
    workspace: Workspace, answer: str, follows: list[str], read: str
) -> None:
    queued: list[Prompt] = []

    async def answers() -> Answers:
        return ((answer,),)

    async def queue_prompt(prompt: Prompt) -> None:
        queued.append(prompt)

    params = EXIT.parse({"summary": "Rename it, then test."})
    plan = await EXIT.plan(params, TurnContext(workspace))
    output = await EXIT.run(params, plan, make_context(workspace, answers=answers, queue_prompt=queue_prompt))

    assert isinstance(output, Output) and read in output.output
    assert plan.questions[0].question.startswith("Rename it, then test.\n\n")
    assert answers_problem(plan.questions, ((answer,),)) is None
    assert [prompt.agent for prompt in queued] == follows
    assert all(each.mode is PromptMode.QUEUE and each.synthetic for each in queued)
    assert all(each.text.endswith("Rename it, then test.") for each in queued)


async def test_a_summary_may_be_left_out(workspace: Workspace) -> None:
    queued: list[Prompt] = []

    async def answers() -> Answers:
        return (("Yes",),)

    async def queue_prompt(prompt: Prompt) -> None:
        queued.append(prompt)

    params = EXIT.parse({})
    plan = await EXIT.plan(params, TurnContext(workspace))
    await EXIT.run(params, plan, make_context(workspace, answers=answers, queue_prompt=queue_prompt))

    assert not plan.questions[0].question.startswith("\n")
    assert queued[0].text == "The plan is approved. Carry it out now."
