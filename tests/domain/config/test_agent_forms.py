import pytest
from pydantic import JsonValue

from workflows.domain.config.agent_forms import find_ineffective, normalize_agent
from workflows.domain.permissions.permission_keys import OF_TOOLS


@pytest.mark.parametrize(
    ("tools", "offered"),
    [
        ("Read, Grep, Bash", {"read", "grep", "bash"}),
        ("Read,Write", {"read", "edit"}),
        (["Edit", "MultiEdit", "NotebookEdit"], {"edit"}),
        ("WebFetch, Task, TodoWrite, LS", {"webfetch", "task", "todowrite", "glob"}),
        (["search/codebase", "runCommands", "fetch"], {"glob", "grep", "bash", "webfetch"}),
        ("mcp__github__search, Foo", set()),
        ([], set()),
        (["*"], {*OF_TOOLS}),
    ],
)
def test_a_list_of_tools_denies_all_others(tools: JsonValue, offered: set[str]) -> None:
    denied = normalize_agent({"tools": tools})["tools"]

    assert denied == {each: False for each in OF_TOOLS if each not in offered}


@pytest.mark.parametrize("tools", [{"bash": False}, None, 3])
def test_what_is_no_list_of_tools_stays(tools: JsonValue) -> None:
    assert normalize_agent({"tools": tools}) == {"tools": tools}


def test_the_model_of_the_session_is_none_of_the_agents() -> None:
    assert normalize_agent({"model": "inherit", "mode": "all"}) == {"mode": "all"}
    assert normalize_agent({"model": "a/b"}) == {"model": "a/b"}


def test_what_has_no_effect_is_named_in_one_line_for_each_agent() -> None:
    agent: JsonValue = {"version": 1, "temprature": 1, "welcome_message": "hi", "reasoningEffort": "low", "mode": "all"}

    fields, tools = find_ineffective({"agent": {"x": agent}, "mode": {"y": {"tools": "Read, mcp__x, Foo"}}})

    assert fields == (
        "the agent 'x' has no field 'temprature', 'version', 'welcome_message': without effect. "
        "For a provider, write into 'options'. Is 'temperature' meant?"
    )
    assert tools == "the agent 'y' lists tools that there are not: 'mcp__x', 'Foo'."
