"""JSON schemas that people give: which are taken, and what a value violates.

`jsonschema` is loaded where one is used: it takes a tenth of a second.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pydantic import JsonValue

from workflows.domain.errors import UsageError

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

MAX_SCHEMA_CHARS: Final = 50_000  # characters: the model reads it in each request
MAX_SCHEMA_DEPTH: Final = 32  # levels that a model gets (activities/model/tool_schemas.py), two for each property
_MAX_PROBLEMS: Final = 10  # in an error for a model
_MAX_PROBLEM_CHARS: Final = 300  # characters of one
_VALUES: Final = frozenset({"enum", "const", "default", "examples"})  # hold values, not schemas
_BY_NAME: Final = frozenset(  # hold schemas by names, which may be those of keywords
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)
_HALF: Final = re.compile(r"[\ud800-\udfff]")
_UNKNOWN: Final[Any] = object()
_MOVING_REFERENCES: Final = ("$dynamicRef", "$recursiveRef")
_NAMES: Final = ("$schema", "$id", "id")  # of a schema and its draft
_SLOW_KEYWORDS: Final = frozenset(  # may take exponential time, or the square of a list's length
    {"$ref", "pattern", "patternProperties", "uniqueItems"}
)

Schema = dict[str, JsonValue]


def check_schema(schema: Schema) -> None:
    """Raises UsageError for a schema that no result can be asked for by."""
    _check_form(schema)
    for path, node in _nodes(schema, "#"):
        _check_references(schema, path, node)
    from jsonschema.exceptions import SchemaError  # start-up time

    validator = _validator(schema)
    try:
        validator.check_schema(schema)
    except SchemaError as error:
        at = "/".join(("#", *map(str, error.absolute_path)))
        raise UsageError(f"The schema is no JSON schema: at {at}: {error.message[:_MAX_PROBLEM_CHARS]}") from error
    try:
        validator.is_valid({})
    except RecursionError as error:
        raise UsageError("The schema refers to itself without end: a `$ref` must lead to something else.") from error


def _check_form(schema: Schema) -> None:
    if schema.get("type") != "object":
        raise UsageError(
            'The schema has to be of an object (`"type": "object"` at its top): put another value into a property.'
        )
    if _depth(schema) > 2 * MAX_SCHEMA_DEPTH:
        raise UsageError(f"The schema is nested deeper than {MAX_SCHEMA_DEPTH} levels: make it flatter.")
    try:
        size = len(json.dumps(schema, allow_nan=False))
    except ValueError as error:
        raise UsageError("The schema holds NaN or Infinity, which are no numbers of JSON: leave it out.") from error
    if size > MAX_SCHEMA_CHARS:
        raise UsageError(f"The schema has {size:,} characters; at most {MAX_SCHEMA_CHARS:,} are allowed: shorten it.")
    if _HALF.search(json.dumps(schema, ensure_ascii=False)):
        raise UsageError("The schema holds half of a character (a lone surrogate): leave it out.")
    for keyword in _NAMES:
        if not isinstance(schema.get(keyword, ""), str):
            raise UsageError(f"The schema's `{keyword}` is {schema[keyword]!r:.100}: write a text, or leave it out.")


def find_problems(schema: Schema, value: JsonValue) -> list[str]:
    """What the value violates, each with its place; none: it is valid. Raises RecursionError for a schema that refers
    to itself without end, and OverflowError for a number too large to be divided."""
    found = []
    for error in _validator(schema).iter_errors(value):
        at = "/".join(map(str, error.absolute_path)) or "the whole"
        found.append(f"{at}: {error.message[:_MAX_PROBLEM_CHARS]}")
        if len(found) == _MAX_PROBLEMS:
            break
    return found


def may_take_long(schema: Schema) -> bool:
    """Whether values have to be checked in a process that can be killed."""
    return any(not _SLOW_KEYWORDS.isdisjoint(node) for _, node in _nodes(schema, "#"))


def _validator(schema: Schema) -> "Validator":
    """By the schema's own draft; reads no other document. Raises UsageError for an unknown draft."""
    # start-up time
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for
    from referencing import Registry

    chosen: Any = Draft202012Validator
    if "$schema" in schema:
        try:
            chosen = validator_for(schema, default=_UNKNOWN)
        except ValueError:  # no address
            chosen = _UNKNOWN
    if chosen is _UNKNOWN:
        raise UsageError(f"The schema is of an unknown draft, `$schema`: {schema['$schema']!r:.100}; leave it out.")
    validator: Validator = chosen(schema, registry=Registry())  # the default one fetches references over HTTP
    return validator


def _check_references(schema: Schema, path: str, node: Mapping[str, Any]) -> None:
    if path != "#" and isinstance(node.get("$id"), str):
        raise UsageError(f"The schema has an `$id` at {path}: only its top may have one.")
    for keyword in _MOVING_REFERENCES:
        if keyword in node and isinstance(node[keyword], str):
            raise UsageError(f"The schema has a `{keyword}` at {path}: write a `$ref` to a place in it.")
    reference = node.get("$ref")
    if not isinstance(reference, str):
        return
    if not (reference == "#" or reference.startswith("#/")):
        raise UsageError(
            f"The schema refers to {reference!r:.100} at {path}: nothing is read from files or the network. Put the "
            "referred schema into `$defs`, and refer to `#/$defs/NAME`."
        )
    found: Any = schema
    for step in reference.split("/")[1:]:
        found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
    if not isinstance(found, Mapping | bool):
        raise UsageError(f"The schema refers to {reference!r:.100} at {path}, and has no schema there.")


def _nodes(node: JsonValue | Mapping[str, Any], path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The schemas in a schema, with their places."""
    if isinstance(node, dict):
        yield path, node
        for keyword, each in node.items():
            if keyword in _BY_NAME and isinstance(each, dict):
                for name, inner in each.items():
                    yield from _nodes(inner, f"{path}/{keyword}/{name}")
            elif keyword not in _VALUES:
                yield from _nodes(each, f"{path}/{keyword}")
    elif isinstance(node, list):
        for number, each in enumerate(node):
            yield from _nodes(each, f"{path}/{number}")


def _depth(schema: Schema) -> int:
    level: list[Any] = [schema]
    depth = 0
    while level and depth <= 2 * MAX_SCHEMA_DEPTH:
        inner = [
            each.values() if isinstance(each, Mapping) else each for each in level if isinstance(each, dict | list)
        ]
        level = [item for items in inner for item in items]
        depth += 1
    return depth
