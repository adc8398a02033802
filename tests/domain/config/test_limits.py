"""What a project's file may not undo of the user's own configuration, by any value in any form."""

import pytest
from pydantic import JsonValue

from tests.domain.config.test_trust import judge
from workflows.domain.agents.agent import AgentMode

OWN: JsonValue = {
    "few": {"steps": 5},
    "bold": {"mode": "primary"},
    "helper": {"mode": "subagent"},
    "open": {"mode": "all"},
    "gone": {"disable": True},
    "quiet": {"hidden": True},
    "title": {"disable": True},
}


def held(name: str, agent: JsonValue, table: str = "agent") -> list[str]:
    _, fields = judge(own={"agent": OWN}, project={table: {name: agent}})
    return [field.removeprefix(f"agent.{name}.") for field in fields]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("few", [{"steps": 6}, {"maxSteps": 6}, {"steps": None}, {"maxSteps": None}]),
        ("bold", [{"mode": "all"}, {"mode": "subagent"}, {"mode": None}]),
        ("helper", [{"mode": "all"}, {"mode": "primary"}, {"mode": None}]),
        ("build", [{"mode": "all"}, {"mode": "subagent"}]),
        ("explore", [{"mode": "all"}, {"mode": "primary"}]),
        ("gone", [{"disable": False}]),
        ("title", [{"disable": False}]),
        ("quiet", [{"hidden": False}, {"hidden": None}]),
    ],
)
def test_what_makes_more_possible_than_the_users_own_files_is_held_back(name: str, values: list[JsonValue]) -> None:
    assert [len(held(name, value)) for value in values] == [1] * len(values)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("few", {"steps": 4}),
        ("few", {"maxSteps": 5}),
        ("bold", {"mode": "primary"}),
        ("open", {"mode": "subagent", "hidden": True, "disable": True, "steps": 9}),
        ("build", {"mode": None, "steps": 9, "disable": False}),
        ("new", {"mode": "all", "hidden": False, "steps": None}),
    ],
)
def test_what_tightens_or_changes_nothing_counts(name: str, value: JsonValue) -> None:
    assert held(name, value) == []


def test_the_older_table_of_agents_opens_none() -> None:
    assert held("helper", {}, table="mode") == ["mode"]


def test_what_is_held_back_leaves_the_users_value_and_what_counts_replaces_it() -> None:
    project: JsonValue = {"few": {"steps": None, "prompt": "p"}, "bold": {"mode": None}, "open": {"steps": 9}}
    config, _ = judge(own={"agent": OWN}, project={"agent": project})

    assert (config.agent["few"].steps, config.agent["few"].prompt, config.agent["open"].steps) == (5, "p", 9)
    assert config.agent["bold"].mode is AgentMode.PRIMARY


def test_other_limits_are_only_tightened_too() -> None:
    own: dict[str, JsonValue] = {"tool_output": {"max_lines": 100}}
    loose: dict[str, JsonValue] = {
        "tool_output": {"max_lines": None, "max_bytes": 9},
        "experimental": {"continue_loop_on_deny": True},
    }

    config, held = judge(own=own, project=loose)

    assert sorted(held) == ["experimental.continue_loop_on_deny", "tool_output.max_lines"]
    assert (config.tool_output.max_lines, config.tool_output.max_bytes) == (100, 9)
    assert judge(own=own, project={"tool_output": {"max_lines": 99}})[1] == []
    assert judge(own={"experimental": {"continue_loop_on_deny": True}}, project=loose)[1] == []
    wide: dict[str, JsonValue] = {"tool_output": {"max_lines": 2001, "max_bytes": 51_200}}
    assert judge(own={}, project=wide)[1] == ["tool_output.max_lines"]
    assert judge(own=wide, project={"tool_output": {"max_lines": None}})[1] == []
