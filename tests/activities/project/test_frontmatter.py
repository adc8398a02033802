import time
from pathlib import Path

import pytest
import yaml
from pydantic import JsonValue

from activities.project import yaml_fields
from activities.project.frontmatter import MAX_HEAD_CHARS, parse
from tests import cases
from workflows.domain.errors import ConfigError

FILE = Path("/x/agent/a.md")


@pytest.mark.parametrize("case", cases.load("markdown_refs", op="frontmatter_repair"))
def test_a_sloppy_head_is_repaired_as_in_opencode(case: cases.Case) -> None:
    given, wanted = (text.removeprefix("---\n").removesuffix("---\n") for text in (case.input["text"], case.expected))

    repaired = yaml_fields.repair(given)

    # Ours quotes on the same line, so that no line moves.
    assert repaired == given if wanted == given else yaml.safe_load(repaired) == yaml.safe_load(wanted)


@pytest.mark.parametrize(
    ("text", "fields", "body"),
    [
        ("Only words.\n", {}, "Only words."),
        ("---\n---\nP", {}, "P"),
        ("---\r\na: 1\r\n---\r\nP\r\n", {"a": 1}, "P"),
        ("\n\n---\na: 1\n---\n\n P \n", {"a": 1}, "P"),
        ("---\na: 1\n---\nP\n---\nQ", {"a": 1}, "P\n---\nQ"),
        ("---\nwhen: use it: it's good\nn: 2\n---\n", {"when": "use it: it's good", "n": 2}, ""),
        ("---\ntools: {bash: false}\nd: a: b\n---\n", {"tools": {"bash": False}, "d": "a: b"}, ""),
        (
            "---\na: no\nb: 2024-01-02\nc: 12:30\nd: on\n---\n",
            {"a": "no", "b": "2024-01-02", "c": "12:30", "d": "on"},
            "",
        ),
        ("---\na: 0.5\nb: 1e3\nc: 1e999\nd: -7\n---\n", {"a": 0.5, "b": 1000.0, "c": "1e999", "d": -7}, ""),
        ("---\na:\nb: [1, ~, true]\n1: x\n---\n", {"a": None, "b": [1, None, True], "1": "x"}, ""),
        ("---\nd: >-\n  one\n  two: three\n---\n", {"d": "one two: three"}, ""),
        ("---\ndescription:\tfor the tests\nmode:\t'all'\n---\n", {"description": "for the tests", "mode": "all"}, ""),
        (
            '---\nname: a\ndescription: Use it\'s so:\n\n<example>\nContext: one\nuser: "x"\n  assistant: y: z\n'
            "</example>\nmodel: sonnet\n\n---\nP",
            {
                "name": "a",
                "description": 'Use it\'s so:\n<example> Context: one user: "x" assistant: y: z </example>',
                "model": "sonnet",
            },
            "P",
        ),
        (
            "---\ndescription: a\n- b\npermission:\n  edit: deny\n---\n",
            {"description": "a - b", "permission": {"edit": "deny"}},
            "",
        ),
    ],
)
def test_fields_are_those_of_yaml_and_the_rest_is_the_body(text: str, fields: JsonValue, body: str) -> None:
    found = parse(text, FILE)

    assert (found.fields, found.body) == (fields, body)


@pytest.mark.parametrize(
    ("head", "line", "problem"),
    [
        ("mode: [unclosed\n", 3, "this is not YAML"),
        ("a: 1\nmy-key: a: b\n", 3, "mapping values are not allowed here"),
        ("a: &x [1]\nb: *x\n", 3, "aliases are not read"),
        ("a: 1\nb: 2\na: 3\n", 4, "the key 'a' stands here a second time"),
        ("description: one\n<b>\nmode: [x\n", 5, "this is not YAML"),
        ("a: !!binary aGk=\n", 2, "the tag tag:yaml.org,2002:binary is not read"),
        ("a: !b%0Ac d\n", 2, "the tag !b c is not read"),
        ("- a\n", 2, "these are no fields"),
        ("a: 1\nb: \x07\n", 3, "the character"),
    ],
)
def test_what_is_wrong_in_a_head_is_named_with_its_line(head: str, line: int, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(f"---\n{head}---\nP", FILE)

    assert str(caught.value).startswith(f"{FILE}:{line}:") and problem in str(caught.value)


@pytest.mark.parametrize(
    ("head", "problem"),
    [
        ("name: plan" + " " * (MAX_HEAD_CHARS - 100) + "x\na: [", "this is not YAML"),
        ("a: " + "[" * (MAX_HEAD_CHARS - 100), "a.md: the fields are nested too deeply"),
        ("a: " + "x" * MAX_HEAD_CHARS, "a.md: the fields have more than 32,768 characters"),
    ],
    ids=["blanks", "brackets", "length"],
)
def test_a_hostile_head_is_judged_at_once(head: str, problem: str) -> None:
    begun = time.thread_time()

    with pytest.raises(ConfigError, match=problem):
        parse(f"---\n{head}\n---\n", FILE)

    assert time.thread_time() - begun < 0.3


def test_a_head_without_an_end_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"a\.md: the fields have no end"):
        parse("---\npermission:\n  edit: deny\n", FILE)
