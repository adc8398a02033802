"""A call's arguments as its tool takes them, or what is wrong with them, in the words that models know."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue, ValidationError
from pydantic_core import ErrorDetails

from activities.tools.tool import Params, Tool
from workflows.domain.errors import ToolError

_EXPECTED: Mapping[str, str] = {
    "string_type": "string",
    "int_type": "number",
    "float_type": "number",
    "bool_type": "boolean",
    "list_type": "array",
    "tuple_type": "array",
    "model_type": "object",
    "dict_type": "object",
}


def validated(tool: Tool[Any], arguments: Mapping[str, JsonValue]) -> Params:
    """The arguments, checked. Raises ToolError in OpenCode's form (opencode.md 7.1)."""
    try:
        return tool.params.model_validate(arguments)
    except ValidationError as error:
        told = "\n".join(_problem(tool.params, each) for each in error.errors())
        raise ToolError(
            f"The {tool.name} tool was called with invalid arguments: SchemaError({told}).\n"
            "Please rewrite the input so it satisfies the expected schema."
        ) from error


def _problem(params: type[Params], error: ErrorDetails) -> str:
    path = json.dumps(list(error["loc"]), separators=(",", ":"))
    return f"{_words(params, error)}\n  at {path}"


def _words(params: type[Params], error: ErrorDetails) -> str:
    """What is expected and what was found; a kind of error that OpenCode has no words for keeps pydantic's."""
    found = json.dumps(error["input"], ensure_ascii=False, default=str)[:200]
    match error["type"]:
        case "missing":
            return "Missing key"
        case "int_type" | "int_from_float" if isinstance(error["input"], float):
            return f"Expected an integer, got {found}"
        case "greater_than" | "greater_than_equal" as kind:
            least = error["ctx"]["gt" if kind == "greater_than" else "ge"]
            bound = "than" if kind == "greater_than" else "than or equal to"
            return f"Expected a value greater {bound} {least}, got {found}"
        case str(kind) if kind in _EXPECTED:
            return f"Expected {_EXPECTED[kind]}{' | undefined' if _optional(params, error) else ''}, got {found}"
        case _:
            return f"{error['msg']}, got {found}"


def _optional(params: type[Params], error: ErrorDetails) -> bool:
    """Whether the argument itself (not something inside of it) may be left out."""
    named = [field for name, field in params.model_fields.items() if (field.alias or name) == error["loc"][0]]
    return len(error["loc"]) == 1 and bool(named) and not named[0].is_required()
