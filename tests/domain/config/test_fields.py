from workflows.domain.config.fields import (
    JsonObject,
    field_paths,
    split_by_paths,
    unknown_fields,
    unsupported_fields,
    value_at,
    with_value_at,
)


def test_a_tree_is_split_by_field_paths() -> None:
    tree: JsonObject = {"a": {"x": {"keep": 1, "drop": 2}}, "b": 3, "c": {"d": 4}}

    kept, rest = split_by_paths(tree, field_paths("a.*.keep c"))

    assert kept == {"a": {"x": {"keep": 1}}, "c": {"d": 4}}
    assert rest == (("a", "x", "drop"), ("b",))


def test_fields_that_come_later_are_named_and_the_honoured_ones_are_not() -> None:
    tree: JsonObject = {
        "model": "a/b",
        "lsp": {},
        "theme": "dark",
        "agent": {"build": {"prompt": "x", "model": "a/b"}},
        "provider": {"own": {"env": []}},
    }

    assert unsupported_fields(tree) == (("lsp",), ("provider", "own", "env"))


def test_options_that_are_never_sent_are_named_wherever_they_stand() -> None:
    unsent: JsonObject = {"tools": [{"type": "web_search"}], "temperature": 1}
    tree: JsonObject = {
        "provider": {"own": {"models": {"m": {"options": unsent, "variants": {"v": {"contextManagement": {}}}}}}},
        "agent": {"build": {"options": {"context_management": {}}, "tools": {"bash": False}}},
    }

    assert unsupported_fields(tree) == (
        ("provider", "own", "models", "m", "options", "tools"),
        ("provider", "own", "models", "m", "variants", "v", "contextManagement"),
        ("agent", "build", "options", "context_management"),
    )


def test_a_field_that_opencode_does_not_know_is_unknown_and_not_unsupported() -> None:
    tree: JsonObject = {"modle": "a/b", "lsp": {}}

    assert unknown_fields(tree) == ("modle",)
    assert unsupported_fields(tree) == (("lsp",),)


def test_a_value_is_read_and_replaced_by_its_path() -> None:
    tree = with_value_at({"a": {"b": 1, "c": 2}}, ("a", "b"), 3)

    assert tree == {"a": {"b": 3, "c": 2}}
    assert value_at(tree, ("a", "b")) == 3
    assert value_at(tree, ("a", "b", "deeper")) is None
