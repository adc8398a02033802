import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from activities.project.jsonc import parse
from tests import cases
from worker.config_schema import build_schema
from workflows.domain.config.fields import KNOWN_FIELDS, SUPPORTED_FIELDS

DOCS = Path(__file__).parents[2] / "docs"
SCHEMA = build_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
EXAMPLES = [
    (name, text)
    for name in ("agents.md", "configuration.md", "models.md", "profiles.md")
    for text in re.findall(r"```jsonc?\n(\{.*?)```", (DOCS / name).read_text(), re.DOTALL)
]


def properties(node: Any, at: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """All fields below a schema, by their paths."""
    found: dict[tuple[str, ...], Any] = {}
    reference = node.get("$ref", "").removeprefix("#/$defs/")
    if reference and reference not in at[:-1]:
        found |= properties(SCHEMA["$defs"][reference], at)
    for name, value in node.get("properties", {}).items():
        found |= {(*at, name): value, **(properties(value, (*at, name)) if at.count(name) < 2 else {})}
    if isinstance(more := node.get("additionalProperties"), dict):
        found |= properties(more, (*at, "*"))
    for each in node.get("anyOf", []):
        found |= properties(each, at)
    return found


def test_the_shipped_schema_is_that_of_the_models() -> None:
    assert json.loads((DOCS / "config.schema.json").read_text()) == SCHEMA, "run `make config-schema`"


def test_the_schema_knows_and_describes_every_field() -> None:
    VALIDATOR.check_schema(SCHEMA)
    known = properties(SCHEMA)

    assert {path for path in SUPPORTED_FIELDS if "permission" not in path} <= {*known}
    assert SCHEMA["properties"].keys() >= KNOWN_FIELDS
    assert [path for path, value in known.items() if len(value.get("description", "")) < 5] == []
    assert "does not act on it" in SCHEMA["properties"]["formatter"]["description"]


@pytest.mark.parametrize(("page", "text"), EXAMPLES, ids=lambda value: value[:20].strip())
def test_the_examples_of_the_documentation_fit(page: str, text: str) -> None:
    tree = parse(text, Path(page))

    assert [error.message for error in VALIDATOR.iter_errors(tree.get("config", tree))] == []  # or an organisation's


@pytest.mark.parametrize("case", cases.load("config_merge"))
def test_what_opencode_takes_fits(case: cases.Case) -> None:
    files = case.input.get("files", {}).items()
    texts = [text if isinstance(text, str) else json.dumps(text) for name, text in files if ".json" in name]
    if case.expected.get("name") == "ConfigJsonError":
        return

    fits = all(VALIDATOR.is_valid(parse(text, Path("opencode.json"))) for text in texts)

    assert fits or "error" in case.expected or "foo_bar" in case.expected  # a field that has no effect


@pytest.mark.parametrize(
    "tree",
    [
        {"modle": "a/b"},
        {"model": 5},
        {"permission": {"bash": "perhaps"}},
        {"agent": {"build": {"steps": 0}}},
        {"holdfast": {"budget": {"day": {"minutes": 5}}}},
    ],
)
def test_a_mistake_is_found(tree: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid(tree)
