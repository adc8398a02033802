import pytest

from activities.project.json_positions import duplicate_keys, locate

TEXT = """// "model": a comment
{
  "permission": {
    /* "bash": { */ "bash": {
      "a{b,c}: *": "ask",
      'rm *': "deny" },
  },
  plugin: [
    "x",
    { "y": 1 },
  ],
}"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("permission",), 3),
        (("permission", "bash"), 4),
        (("permission", "bash", "a{b,c}: *"), 5),
        (("permission", "bash", "rm *"), 6),
        (("plugin",), 8),
        (("plugin", 0), 9),
        (("plugin", 1, "y"), 10),
    ],
)
def test_a_field_is_found_on_its_line(path: tuple[str | int, ...], line: int) -> None:
    assert locate(TEXT, path) == (path, line)


def test_parts_of_a_path_that_are_no_fields_are_passed_over() -> None:
    assert locate(TEXT, ("permission", "dict[str,Action]", "bash", "enum")) == (("permission", "bash"), 4)


def test_a_key_that_stands_twice_in_one_object_is_found_with_the_line_of_the_later_one() -> None:
    text = """{"permission": {
      "bash": {"*": "deny", "git *": "allow"},
      "edit": {"*": "ask", "*": "deny"}, // "bash": no key
      'bash': {"*": "deny"}},
    "x": [{"a": 1}, {"a": 2}]}"""

    assert duplicate_keys(text) == [(("permission", "edit", "*"), 3), (("permission", "bash"), 4)]
