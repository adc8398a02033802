"""The tools that a model is offered."""

import pytest

from activities.model.step_request import offer_tools, tool_choice
from activities.tools.registry import TOOLS
from workflows.domain.agents.delegation import Delegation
from workflows.domain.config.agent_selection import available_agents
from workflows.domain.config.config import Config
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.permissions.rules import Action, Rule
from workflows.domain.permissions.rulesets import Rulesets
from workflows.domain.skills import Skill
from workflows.domain.tool_offer import ToolOffer

SKILL = Skill(name="x", file="/x/SKILL.md")
EVERYBODY = Delegation(agents=tuple(available_agents(Config()).values()))


def offers(*rules: Rule, delegation: Delegation = EVERYBODY, model: str = "own/m") -> dict[str, ToolOffer]:
    """A turn's offers under these rules, by name."""
    turn = TurnConfig(
        directory="/", worktree=None, config=Config(), rules=Rulesets.of(rules), delegation=delegation, skills=(SKILL,)
    )
    return {offer.name: offer for offer in offer_tools(TOOLS, turn, model)}


def denied(permission: str, pattern: str = "*") -> Rule:
    return Rule(permission=permission, pattern=pattern, action=Action.DENY)


def test_all_tools_are_offered_in_the_order_of_their_names_but_invalid() -> None:
    names = list(offers())
    others = {"invalid", "plan_exit", "apply_patch", "websearch"}  # for plan, for some models, until it is switched on
    assert names == sorted(TOOLS.keys() - others)


@pytest.mark.parametrize(
    ("model", "patches"),
    [
        ("openai/gpt-5.2", True),
        ("openrouter/openai/gpt-6-sol", True),
        ("azure/GPT-5-mini", True),
        ("openai/gpt-4o", False),
        ("groq/openai/gpt-oss-120b", False),
        ("openai/o3", False),
        ("gpt-5/own", False),
    ],
)
def test_models_that_give_patches_change_files_by_them_and_no_other_does(model: str, patches: bool) -> None:
    changing = {"apply_patch", "edit", "write"} & offers(model=model).keys()
    assert changing == ({"apply_patch"} if patches else {"edit", "write"})
    assert not {"apply_patch", "edit", "write"} & offers(denied("edit"), model=model).keys()


def test_an_offer_says_what_the_tool_is_for_and_takes() -> None:
    offer = offers()["read"]
    assert offer.description and offer.parameters["required"] == ["filePath"]


def test_a_tool_that_a_rule_switches_off_is_not_offered() -> None:
    names = offers(denied("edit"), denied("bash", "rm *")).keys()
    assert "bash" in names and not {"edit", "write"} & names


def test_an_agent_that_may_load_no_skill_has_no_tool_for_it() -> None:
    assert "skill" in offers(denied("skill", "y")) and "skill" not in offers(denied("skill", "x"))


def test_the_offer_of_task_lists_the_subagents() -> None:
    description = offers(denied("task", "general"))["task"].description
    assert "- explore: " in description and "- general: " not in description


def test_no_subagent_is_offered_below_the_deepest_session_or_without_any() -> None:
    deep = EVERYBODY.model_copy(update={"ancestors": 1})
    for delegation in (deep, Delegation()):
        assert "task" not in offers(delegation=delegation)


def test_a_step_of_text_only_forbids_calls_where_that_leaves_the_cache_as_it_is() -> None:
    for claude in ("anthropic/claude-opus-5-5", "openrouter/anthropic/claude-opus-5.5", "openai/claude-of-a-proxy"):
        assert tool_choice(claude, text_only=True, again=False) is None
        assert tool_choice(claude, text_only=True, again=True) == "none"
    assert tool_choice("openai/gpt-6-sol", text_only=True, again=False) == "none"
    assert tool_choice("openai/gpt-6-sol", text_only=False, again=True) is None
