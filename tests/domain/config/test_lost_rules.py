import pytest
from pydantic import JsonValue

from workflows.domain.config.lost_rules import find_lost_rules


@pytest.mark.parametrize("table", ["agent", "mode"])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        *((key, {}) for key in ("permissions", "permision", "Permission", "tool", "Tools")),
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
