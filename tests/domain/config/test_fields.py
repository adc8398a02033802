from workflows.domain.config.fields import JsonObject, at, not_honoured, paths, put, split, unknown


def test_a_tree_is_split_by_field_paths() -> None:
    tree: JsonObject = {"a": {"x": {"keep": 1, "drop": 2}}, "b": 3, "c": {"d": 4}}

    kept, rest = split(tree, paths("a.*.keep", "c"))

    assert kept == {"a": {"x": {"keep": 1}}, "c": {"d": 4}}
    assert rest == (("a", "x", "drop"), ("b",))


def test_fields_that_come_later_are_named_and_the_honoured_ones_are_not() -> None:
    tree: JsonObject = {
        "model": "a/b",
        "mcp": {},
        "theme": "dark",
        "agent": {"build": {"prompt": "x", "model": "a/b"}, "own": {"color": "red"}},
    }

    assert not_honoured(tree) == (("mcp",), ("agent", "build", "prompt"), ("agent", "own", "color"))


def test_a_field_that_nobody_knows_is_unknown_and_not_merely_late() -> None:
    tree: JsonObject = {"modle": "a/b", "mcp": {}}

    assert unknown(tree) == ("modle",)
    assert not_honoured(tree) == (("mcp",),)


def test_a_value_is_read_and_replaced_by_its_path() -> None:
    tree = put({"a": {"b": 1, "c": 2}}, ("a", "b"), 3)

    assert tree == {"a": {"b": 3, "c": 2}}
    assert at(tree, ("a", "b")) == 3
    assert at(tree, ("a", "b", "deeper")) is None
