"""Every tool is offered with a description and a plain schema."""

import json
from typing import Any

import pytest

from activities.tools.built_in_tool import parameters_schema
from activities.tools.registry import TOOLS
from workflows.domain.agents.agent import Agent
from workflows.domain.agents.built_in import BUILD, PLAN
from workflows.domain.agents.delegation import Delegation
from workflows.domain.config.config import Config, HoldfastSettings, WebSettings
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.permissions.rules import Action, Rule
from workflows.domain.permissions.rulesets import Rulesets
from workflows.domain.skills import Skill

ALLOWED = (Rule(permission="*", pattern="*", action=Action.ALLOW),)
OFFERED = sorted(set(TOOLS) - {"invalid"})


def test_the_table_names_each_tool_as_it_names_itself() -> None:
    by_themselves = ["apply_patch", "bash", "edit", "glob", "grep", "plan_enter", "plan_exit", "question", "read"]
    assert [*by_themselves, "skill", "task", "todowrite", "wait", "webfetch", "websearch", "write"] == OFFERED
    assert all(tool.name == name for name, tool in TOOLS.items())


@pytest.mark.parametrize("name", OFFERED)
def test_a_description_names_every_argument(name: str) -> None:
    agent = Agent(name="x", description="y")
    turn = TurnConfig(
        directory="/",
        worktree=None,
        config=Config(holdfast=HoldfastSettings(web=WebSettings(search="exa"))),
        rules=Rulesets.of(ALLOWED),
        agent=agent,
        delegation=Delegation(agents=(agent, BUILD, PLAN)),
        skills=(Skill(name="x", file="/x/SKILL.md"),),
    )
    offer = TOOLS[name].offer(turn)
    assert offer is not None
    assert all(f"`{field}`" in offer.description for field in offer.parameters["properties"])  # type: ignore[union-attr]


@pytest.mark.parametrize("name", OFFERED)
def test_a_schema_says_nothing_that_the_description_says(name: str) -> None:
    """Nor what only `parse` checks. A property may be called `description`."""
    offered = parameters_schema(TOOLS[name].params)
    said = ("title", "$ref", "$defs", "anyOf", "null", "default", "minLength", "minItems", "minimum")
    assert offered["type"] == "object"
    assert not any(f'"{word}"' in json.dumps(offered) for word in said)
    properties: Any = offered["properties"]
    assert all("type" in each and "description" not in each for each in properties.values())


def test_the_schema_comes_from_the_arguments() -> None:
    assert parameters_schema(TOOLS["todowrite"].params) == {
        "type": "object",
        "properties": {
            "todos": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "content": {"type": "string"},
                        "status": {"type": "string", "enum": ["pending", "in_progress", "completed", "cancelled"]},
                    },
                    "required": ["content", "status"],
                },
            }
        },
        "required": ["todos"],
    }
    assert parameters_schema(TOOLS["glob"].params)["required"] == ["pattern"]
