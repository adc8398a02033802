import json

from workflows.domain.config.fields import JsonObject
from workflows.domain.config.merge import deep_merge, merge_files, normalize_field_names, normalize_permissions


def test_a_key_keeps_the_place_that_the_earlier_file_gave_it() -> None:
    result = deep_merge(
        {"bash": {"*": "ask", "git *": "allow"}, "edit": "ask"}, {"edit": "deny", "bash": {"*": "deny"}}
    )

    assert list(result) == ["bash", "edit"]
    assert json.dumps(result["bash"]) == '{"*": "deny", "git *": "allow"}'


def test_instructions_are_joined_and_other_arrays_replaced() -> None:
    first: JsonObject = {"instructions": ["a", "b"], "plugin": ["x"]}

    assert merge_files([first, {"instructions": ["b", "c"], "plugin": ["y"]}]) == {
        "instructions": ["a", "b", "c"],
        "plugin": ["y"],
    }


def test_a_later_file_takes_no_tool_from_the_list_of_those_for_primary_agents() -> None:
    own: JsonObject = {"experimental": {"primary_tools": ["bash"]}}
    emptied: JsonObject = {"experimental": {"primary_tools": []}}
    more: JsonObject = {"experimental": {"primary_tools": ["edit"]}}

    assert merge_files([own, emptied, more]) == {"experimental": {"primary_tools": ["bash", "edit"]}}


def test_the_older_map_of_tools_becomes_permissions_and_explicit_ones_win() -> None:
    tree: JsonObject = {"agent": {"build": {"tools": {"bash": False, "write": False}, "permission": {"bash": "ask"}}}}

    assert normalize_permissions(tree)["agent"] == {
        "build": {
            "tools": {"bash": False, "write": False},
            "permission": {"bash": "ask", "edit": "deny"},
        }
    }


def test_a_permission_of_one_word_is_a_rule_for_everything() -> None:
    assert normalize_permissions({"permission": "ask"}) == {"permission": {"*": "ask"}}


def test_what_is_an_option_of_providers_becomes_one_and_other_unknown_fields_of_agents_are_dropped() -> None:
    agent: JsonObject = {"reasoningEffort": 1, "version": 2, "temperature": 0.5, "options": {"b": 2}, "maxSteps": 3}

    assert normalize_field_names({"agent": {"x": agent}}) == {
        "agent": {"x": {"steps": 3, "temperature": 0.5, "options": {"b": 2, "reasoningEffort": 1}}}
    }


def test_the_older_table_of_modes_holds_primary_agents() -> None:
    tree: JsonObject = {"mode": {"deep": {"prompt": "P"}, "x": {}}, "agent": {"x": {"mode": "all", "color": "info"}}}

    assert normalize_field_names(tree) == {
        "agent": {"x": {"mode": "primary", "color": "info"}, "deep": {"prompt": "P", "mode": "primary"}}
    }
