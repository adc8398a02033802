"""Schemas as MCP servers offer them: name → the schema, and arguments that it allows."""

from typing import Any

RECURSIVE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
    "required": ["name"],
}
ADDRESS = {"type": "object", "properties": {"street": {"type": "string"}, "no": {"type": "integer"}}}


def _deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"in": schema}}
    return schema


HOSTILE: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "nothing at all": ({}, [{}]),
    "an object without properties": ({"type": "object"}, [{}]),
    "the draft, an id, titles and examples": (
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "$id": "https://example.com/tool",
            "title": "Tool",
            "type": "object",
            "properties": {"url": {"title": "Url", "type": "string", "format": "uri", "examples": ["https://a"]}},
            "additionalProperties": False,
        },
        [{"url": "https://a"}],
    ),
    "references with words beside them": (
        {
            "type": "object",
            "properties": {"to": {"$ref": "#/$defs/Address", "description": "Where to", "default": {}}},
            "$defs": {"Address": ADDRESS},
        },
        [{"to": {"street": "a", "no": 1}}],
    ),
    "references to properties, with definitions of the older name": (
        {
            "type": "object",
            "properties": {
                "headers": {"type": "object", "additionalProperties": {"type": "string"}},
                "more": {"type": "array", "items": {"$ref": "#/properties/headers"}},
                "home": {"$ref": "#/definitions/a~1b"},
            },
            "definitions": {"a/b": ADDRESS},
        },
        [{"more": [{"x": "y"}], "home": {"no": 2}}],
    ),
    "references to nothing and to elsewhere": (
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/Missing"}, "b": {"$ref": "https://example.com/schema.json"}},
        },
        [],
    ),
    "a tree that holds itself": (
        {"$ref": "#/$defs/Node", "$defs": {"Node": RECURSIVE}},
        [{"name": "a", "children": [{"name": "b", "children": []}]}],
    ),
    "a list of types": (
        {
            "type": "object",
            "properties": {
                "id": {"type": ["string", "number"], "minLength": 1, "minimum": 0, "description": "Its id"},
                "tags": {"type": ["array", "null"], "items": {"type": "string"}},
                "kind": {"type": ["string", "null"], "enum": ["a", "b", None]},
            },
        },
        [{"id": "x", "tags": None, "kind": None}, {"id": 4, "tags": ["t"], "kind": "a"}],
    ),
    "nullable, as OpenAPI has it": (
        {"type": "object", "properties": {"a": {"type": "string", "nullable": True}}},
        [{"a": "x"}],
    ),
    "a type beside its union": (
        {
            "type": "object",
            "properties": {
                "skill": {
                    "type": ["string", "array", "boolean"],
                    "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "boolean"}, {"type": "string"}],
                }
            },
        },
        [{"skill": ["a"]}, {"skill": True}, {"skill": "a"}],
    ),
    "a union as the root": (
        {
            "type": "object",
            "anyOf": [
                {
                    "type": "object",
                    "properties": {"file": {"type": "string"}, "text": {}},
                    "required": ["file", "text"],
                },
                {"type": "object", "properties": {"file": {"type": "string"}, "url": {}}, "required": ["file", "url"]},
            ],
        },
        [{"file": "a", "text": "b"}, {"file": "a", "url": "b"}],
    ),
    "at least one of some fields": (
        {
            "type": "object",
            "properties": {"id": {"type": "string"}, "title": {"type": "string"}, "body": {"type": "string"}},
            "required": ["id"],
            "anyOf": [{"required": ["title"]}, {"required": ["body"]}],
        },
        [{"id": "1", "title": "a"}, {"id": "1", "body": "b"}],
    ),
    "a union told apart by a word": (
        {
            "type": "object",
            "properties": {
                "block": {
                    "oneOf": [
                        {
                            "type": "object",
                            "properties": {"type": {"const": "text"}, "text": {"type": "string"}},
                            "required": ["type", "text"],
                        },
                        {
                            "type": "object",
                            "properties": {"type": {"const": "rule"}, "width": {"type": "integer"}},
                            "required": ["type"],
                        },
                    ]
                }
            },
        },
        [{"block": {"type": "text", "text": "a"}}, {"block": {"type": "rule", "width": 1}}],
    ),
    "parts of one object": (
        {
            "allOf": [{"$ref": "#/$defs/Address"}, {"properties": {"zip": {"type": "string"}}, "required": ["zip"]}],
            "$defs": {"Address": ADDRESS},
        },
        [{"street": "a", "zip": "1"}],
    ),
    "a tuple, in both forms": (
        {
            "type": "object",
            "properties": {
                "range": {"type": "array", "items": [{"type": "integer"}, {"type": "string"}], "minItems": 2},
                "point": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}]},
            },
        },
        [{"point": [1.5, 2]}],
    ),
    "lists of anything": (
        {
            "type": "object",
            "properties": {
                "a": {"type": "array"},
                "b": {"type": "array", "items": {}},
                "c": {"type": "array", "items": True},
            },
        },
        [{"a": ["x"], "b": ["y"], "c": ["z"]}],
    ),
    "parameters of any type": (
        {
            "type": "object",
            "properties": {"value": {"description": "Any value"}, "more": {"additionalProperties": {"title": "Any"}}},
        },
        [{"value": "x", "more": {"a": "b"}}],
    ),
    "unions and choices that are none": (
        {
            "type": "object",
            "properties": {"a": {"anyOf": 5}, "b": {"type": "number", "enum": ["x", 1]}, "c": {"oneOf": {}}},
        },
        [{"b": 1}],
    ),
    "a character that no text has": (
        {"type": "object", "properties": {"a": {"type": "string", "description": "\ud800"}}},
        [{"a": "x"}],
    ),
    "numbers to choose from": (
        {"type": "object", "properties": {"level": {"type": "integer", "enum": [1, 2, 3]}, "rate": {"const": 0.5}}},
        [{"level": 2, "rate": 0.5}],
    ),
    "older drafts": (
        {
            "type": "object",
            "properties": {
                "n": {"type": "number", "minimum": 0, "exclusiveMinimum": True, "required": True},
                "any": {"type": "any"},
                "whole": {"type": "int"},
            },
        },
        [],
    ),
    "what no schema has": (
        {"type": "object", "properties": {"a": None, "b": True, "c": "string"}, "required": [1, "b", "z"], "enum": 3},
        [],
    ),
    "conditions": (
        {
            "type": "object",
            "properties": {"a": {"type": "string", "not": {"const": "x"}}, "b": {"type": "string"}},
            "if": {"properties": {"a": {"const": "y"}}},
            "then": {"required": ["b"]},
            "dependentRequired": {"a": ["b"]},
            "propertyNames": {"pattern": "^[a-z]$"},
            "patternProperties": {"^x": {"type": "integer"}},
        },
        [{"a": "y", "b": "z"}, {"b": "z", "x": 1, "c": "not bound"}],
    ),
    "fifty levels": (_deep(50), [{"in": {"in": {}}}]),
}
