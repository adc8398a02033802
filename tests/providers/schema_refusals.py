"""What providers refuse of a tool's schema, in their words; None: nothing.

Sources: OpenAI and Anthropic check by the meta-schema of draft 2020-12, and refuse more (their messages, as issues of
MCP servers quote them: langchainjs #9804, mcp-digitalocean #265, huly-mcp #66); Anthropic's page on self-hosted
sandboxes (references, names); Gemini: its page on structured output, opencode #12295; Moonshot: opencode #37496,
kimi-code #2661, kimi-cli #2030.
That Gemini refuses what its page does not list, and not only ignores it, is believed, not tried.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

_UNIONS: Final = ("oneOf", "anyOf", "allOf")
_NAME: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_GEMINI: Final = {
    *("type", "title", "description", "enum", "default", "anyOf", "properties", "additionalProperties", "required"),
    *("items", "minItems", "maxItems", "minimum", "maximum"),
}


def openai(schema: Any) -> str | None:
    if wrong := _invalid(schema):
        return wrong
    if schema.get("type") != "object" or any(key in schema for key in (*_UNIONS, "enum", "not")):
        return "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
    if "properties" not in schema:
        return "In context=(), object schema missing properties."
    for node in nodes(schema):
        if node.get("type") == "array" and "items" not in node:
            return "array schema missing items."
    return None


def anthropic(schema: Any) -> str | None:
    if wrong := _invalid(schema):
        return f"input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12: {wrong}"
    if schema.get("type") != "object":
        return "input_schema.type: Input should be 'object'"
    if any(key in schema for key in _UNIONS):
        return "input_schema does not support oneOf, allOf, or anyOf at the top level"
    for node in nodes(schema):
        if "$ref" in node:
            return "input_schema: $ref is not supported"
        if any(not _NAME.fullmatch(name) for name in node.get("properties", ())):
            return "input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'"
    return None


def gemini(schema: Any) -> str | None:
    for node in nodes(schema):
        if "$ref" in node and len(node) > 1:
            return f"reference {node['$ref']!r} was set alongside unsupported fields"
        if unknown := node.keys() - _GEMINI:
            return f'Unknown name "{min(unknown)}"'
        if not isinstance(node.get("type", ""), str):
            return 'Proto field is not repeating, cannot start list: "type"'
        if any(not isinstance(value, str) for value in node.get("enum", ())):
            return "Invalid value at 'enum' (TYPE_STRING)"
        if node.get("type") == "array" and not node.get("items"):
            return "items: missing field."
    return None if schema.get("type") == "object" else "schema must be of type OBJECT"


def moonshot(schema: Any) -> str | None:
    said = "tools.function.parameters is not a valid moonshot flavored json schema, details: "
    if schema.get("type") != "object":
        return 'tools.function.parameters.type is required and must be "object"'
    for node in nodes(schema):
        if not any(key in node for key in ("type", "$ref", *_UNIONS)):
            return f"{said}<type is not defined>"
        if any(key in node for key in ("anyOf", "oneOf")) and "type" in node:
            return f"{said}<when using anyOf, type should be defined in anyOf items instead of the parent schema>"
        if "$ref" in node and len(node) > 1:
            return f"{said}<$ref cannot have siblings>"
        if isinstance(node.get("items"), list) or "prefixItems" in node:
            return f"{said}<items should be one schema>"
    return None


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """The schema and those below it."""
    if not isinstance(schema, dict):
        return
    yield schema
    for key in ("properties", "$defs", "definitions", "patternProperties"):
        for each in (schema.get(key) or {}).values():
            yield from nodes(each)
    for key in ("items", "additionalProperties", "not"):
        yield from nodes(schema.get(key))
    for key in (*_UNIONS, "prefixItems"):
        for each in schema.get(key) or ():
            yield from nodes(each)


def _invalid(schema: Any) -> str | None:
    return _invalid_text(json.dumps(schema))


@cache  # the same tools come with every request
def _invalid_text(schema: str) -> str | None:
    try:
        Draft202012Validator.check_schema(json.loads(schema))
    except SchemaError as error:
        return error.message
    return None
