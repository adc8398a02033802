import json

from workflows.domain.config.fields import JsonObject
from workflows.domain.config.merge import merged, modern, over


def test_a_key_keeps_the_place_that_the_earlier_file_gave_it() -> None:
    result = over({"bash": {"*": "ask", "git *": "allow"}, "edit": "ask"}, {"edit": "deny", "bash": {"*": "deny"}})

    assert list(result) == ["bash", "edit"]
    assert json.dumps(result["bash"]) == '{"*": "deny", "git *": "allow"}'


def test_instructions_are_joined_and_other_arrays_replaced() -> None:
    first: JsonObject = {"instructions": ["a", "b"], "plugin": ["x"]}

    assert merged([first, {"instructions": ["b", "c"], "plugin": ["y"]}]) == {
        "instructions": ["a", "b", "c"],
        "plugin": ["y"],
    }


def test_the_older_map_of_tools_becomes_permissions_and_explicit_ones_win() -> None:
    tree: JsonObject = {"agent": {"build": {"tools": {"bash": False, "write": False}, "permission": {"bash": "ask"}}}}

    assert modern(tree)["agent"] == {
        "build": {
            "tools": {"bash": False, "write": False},
            "permission": {"bash": "ask", "edit": "deny"},
        }
    }


def test_a_permission_of_one_word_is_a_rule_for_everything() -> None:
    assert modern({"permission": "ask"}) == {"permission": {"*": "ask"}}
