"""Which schemas are taken, and what a value violates."""

import json
import math
from typing import Any

import pytest

from activities.tools.json_schema import MAX_SCHEMA_CHARS, check_schema, find_problems, may_take_long
from workflows.domain.errors import UsageError

CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "twins": {"type": "array", "items": {"$ref": "#"}}},
    "required": ["name"],
    "additionalProperties": False,
}


def of(node: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": node}}


def deep(levels: int) -> dict[str, Any]:
    return of(deep(levels - 1)) if levels else {}


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "array"}, "has to be of an object"),
        ({}, "has to be of an object"),
        (of({"type": "text"}), "no JSON schema: at #/properties/x/type"),
        (of({"$ref": "file:///etc/passwd"}), "nothing is read from files or the network"),
        (of({"$ref": "https://example.com/x.json"}), "at #/properties/x"),
        (of({"$ref": "other.json#/x"}), "nothing is read"),
        (of({"$ref": "#/$defs/none"}), "has no schema there"),
        ({"type": "object", "properties": {"default": {"$ref": "https://example.com/x"}}}, "at #/properties/default"),
        (of({"$dynamicRef": "#x"}), "write a `$ref`"),
        (of({"$id": "https://example.com/x"}), "only its top"),
        ({"type": "object", "$schema": "https://example.com/draft"}, "unknown draft"),
        ({"type": "object", "$schema": "http://[x"}, "unknown draft"),
        ({"type": "object", "allOf": [{"$ref": "#"}]}, "refers to itself without end"),
        (deep(40), "nested deeper than 32 levels"),
        (of({"description": "\ud800"}), "half of a character"),
        (of({"maximum": math.nan}), "NaN or Infinity"),
        ({"type": "object", "$schema": ["x"]}, "`$schema` is ['x']: write a text"),
        ({"type": "object", "$id": 5}, "`$id` is 5"),
        ({"type": "object", "$schema": "http://json-schema.org/draft-04/schema#", "id": 5}, "`id` is 5"),
        (of({"description": "x" * MAX_SCHEMA_CHARS}), "at most 50,000 are allowed"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_in_words(schema: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_schema(schema)
    assert why in str(refused.value)


def test_schemas_of_every_draft_with_references_in_themselves_are_taken() -> None:
    check_schema(CITY)
    check_schema(deep(30))
    check_schema({"$schema": "http://json-schema.org/draft-07/schema#", **CITY})
    check_schema(of({"enum": [{"$ref": "a value"}]}))
    check_schema({"type": "object", "properties": {"$ref": {"type": "string"}}})


def test_a_value_s_problems_are_named_with_their_places() -> None:
    assert find_problems(CITY, {"name": "Ulm", "twins": [{"name": "Jinja"}]}) == []
    wrong = find_problems(CITY, {"twins": [{"name": 7}]})
    assert sorted(wrong) == ["the whole: 'name' is a required property", "twins/0/name: 7 is not of type 'string'"]
    many = find_problems(of({"type": "array", "items": {"type": "null"}}), {"x": list(range(99))})
    assert len(many) == 10 and len(json.dumps(many)) < 5000


def test_patterns_references_and_unique_items_may_take_long() -> None:
    assert may_take_long(CITY) and may_take_long(of({"pattern": "(a+)+$"})) and may_take_long(of({"uniqueItems": True}))
    assert not may_take_long(of({"type": "string", "maxLength": 5}))
