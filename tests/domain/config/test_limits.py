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
    fields = judge(own={"agent": OWN}, project={table: {name: agent}}).ignored
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
    config = judge(own={"agent": OWN}, project={"agent": project}).config

    assert (config.agent["few"].steps, config.agent["few"].prompt, config.agent["open"].steps) == (5, "p", 9)
    assert config.agent["bold"].mode is AgentMode.PRIMARY


def test_other_limits_are_only_tightened_too() -> None:
    own: dict[str, JsonValue] = {"tool_output": {"max_lines": 100}}
    loose: dict[str, JsonValue] = {
        "tool_output": {"max_lines": None, "max_bytes": 9},
        "experimental": {"continue_loop_on_deny": True},
    }

    config, _, held = judge(own=own, project=loose)

    assert sorted(held) == ["experimental.continue_loop_on_deny", "tool_output.max_lines"]
    assert (config.tool_output.max_lines, config.tool_output.max_bytes) == (100, 9)
    assert judge(own=own, project={"tool_output": {"max_lines": 99}}).ignored == []
    assert judge(own={"experimental": {"continue_loop_on_deny": True}}, project=loose).ignored == []
    wide: dict[str, JsonValue] = {"tool_output": {"max_lines": 2001, "max_bytes": 51_200}}
    assert judge(own={}, project=wide).ignored == ["tool_output.max_lines"]
    assert judge(own=wide, project={"tool_output": {"max_lines": None}}).ignored == []


def test_how_deep_subagents_may_go_is_tightened_only() -> None:
    depths = [judge(own={"subagent_depth": 2}, project={"subagent_depth": each}) for each in (9, 1)]

    assert [(each.config.subagent_depth, each.ignored) for each in depths] == [(2, ["subagent_depth"]), (1, [])]


@pytest.mark.parametrize(("given", "counts"), [(9, 5), (None, 5), (4, 4)])
def test_an_agent_of_the_project_alone_takes_the_steps_of_ones_default_agent_at_most(
    given: JsonValue, counts: int
) -> None:
    own: JsonValue = {"build": {"steps": 5}}
    agent: JsonValue = {"mine": {"prompt": "p"} if given is None else {"steps": given}}

    assert judge(own={"agent": own}, project={"agent": agent}).config.agent["mine"].steps == counts


def test_accepted_limits_count_as_they_are() -> None:
    project: dict[str, JsonValue] = {"agent": {"few": {"steps": 9}}, "subagent_depth": 3}
    found = judge(own={"agent": OWN}, project=project, rules=True)

    assert (found.config.agent["few"].steps, found.config.subagent_depth, found.ignored) == (9, 3, [])
