import pytest

from activities.project.excerpts import excerpt_json
from activities.project.json_positions import duplicate_keys, locate, position_at

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
    ("path", "position"),
    [
        (("permission",), (3, 3)),
        (("permission", "bash"), (4, 21)),
        (("permission", "bash", "a{b,c}: *"), (5, 7)),
        (("permission", "bash", "rm *"), (6, 7)),
        (("plugin",), (8, 3)),
        (("plugin", 0), (9, 5)),
        (("plugin", 1, "y"), (10, 7)),
    ],
)
def test_a_field_is_found_where_it_stands(path: tuple[str | int, ...], position: tuple[int, int]) -> None:
    known, offset = locate(TEXT, path)

    assert (known, position_at(TEXT, offset)) == (path, position)


def test_parts_of_a_path_that_are_no_fields_are_passed_over() -> None:
    assert locate(TEXT, ("permission", "dict[str,Action]", "bash", "enum"))[0] == ("permission", "bash")


def test_a_key_that_stands_twice_in_one_object_is_found_with_the_position_of_the_later_one() -> None:
    text = """{"permission": {
      "bash": {"*": "deny", "git *": "allow"},
      "edit": {"*": "ask", "*": "deny"}, // "bash": no key
      'bash': {"*": "deny"}},
    "x": [{"a": 1}, {"a": 2}]}"""

    assert duplicate_keys(text) == [(("permission", "edit", "*"), (3, 28)), (("permission", "bash"), (4, 7))]


def test_a_text_of_brackets_that_nobody_could_read_takes_no_time_and_names_nothing() -> None:
    text = '{"a":' + "[" * 200_000

    assert locate(text, ("a", 0)) == ((), 0) and excerpt_json(text, 0) == ""
