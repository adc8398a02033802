import pytest
from pydantic import JsonValue

from workflows.domain.config.lost_rules import find_lost_rules, similar_field


@pytest.mark.parametrize("table", ["agent", "mode"])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        *((key, {}) for key in ("permissions", "permision", "Permission", "tool", "Tools")),
        *((key, True) for key in ("disabled", "disabel", "step", "max_steps", "disallowedTools", "allowed-tools")),
        ("rules", {"bash": {"*": "deny"}, "edit": "ask"}),
        *(("edit", "deny"), ("bash", {"*": "deny", "ls *": "allow"}), ("mcp_x", "ask")),
    ],
)
def test_a_misspelt_or_misplaced_rule_is_found(table: str, key: str, value: JsonValue) -> None:
    assert [path for path, _ in find_lost_rules({table: {"x": {"mode": "all", key: value}}})] == [(table, "x", key)]


@pytest.mark.parametrize(
    ("key", "value"), [("permission", {"edit": "deny"}), ("permissionMode", "plan"), ("tool_choice", "auto"), ("a", {})]
)
def test_an_option_of_a_provider_is_no_rule(key: str, value: JsonValue) -> None:
    assert [*find_lost_rules({"agent": {"x": {key: value}}})] == []


@pytest.mark.parametrize(
    ("key", "near"),
    [("temprature", "temperature"), ("descripton", "description"), ("permissionMode", "permission")]
    + [(key, None) for key in ("top_k", "reasoningEffort", "thinking", "textVerbosity", "framework")],
)
def test_a_key_that_may_be_a_misspelt_field_is_found(key: str, near: str | None) -> None:
    assert similar_field(key) == near
