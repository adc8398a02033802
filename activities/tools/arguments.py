"""Validates a call's arguments; errors are in the words that models know."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError, field_validator
from pydantic_core import ErrorDetails, from_json

from workflows.domain.errors import ToolError


class Params(BaseModel):
    """Arguments of a tool, strictly typed; unknown keys are ignored (opencode.md 7.1). A text that is the JSON of the
    right type is taken as that, and 2.0 as the whole number that it is."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    @field_validator("*", mode="wrap")
    @classmethod
    def _decode_text(cls, value: Any, validate: Callable[[Any], Any]) -> Any:
        with suppress(ValidationError):
            return validate(value)
        if isinstance(value, str):
            with suppress(ValueError, TypeError):  # TypeError: half of a character
                value = from_json(value, allow_inf_nan=False)
        return validate(int(value) if isinstance(value, float) and value.is_integer() else value)


P = TypeVar("P", bound=Params)

_TYPE_NAMES: Mapping[str, str] = {
    "string_type": "string",
    "int_type": "number",
    "float_type": "number",
    "bool_type": "boolean",
    "list_type": "array",
    "tuple_type": "array",
    "model_type": "object",
    "dict_type": "object",
}


def validate_arguments(tool: str, params: type[P], arguments: Mapping[str, JsonValue]) -> P:
    """The parsed arguments. Raises ToolError in OpenCode's form (opencode.md 7.1)."""
    try:
        return params.model_validate(arguments)
    except ValidationError as error:
        problems = "\n".join(_format_problem(params, each) for each in error.errors())
        raise ToolError(
            f"The {tool} tool was called with invalid arguments: SchemaError({problems}).\n"
            "Please rewrite the input so it satisfies the expected schema."
        ) from error


def _format_problem(params: type[Params], error: ErrorDetails) -> str:
    path = json.dumps(list(error["loc"]), separators=(",", ":"))
    return f"{_explain_error(params, error)}\n  at {path}"


def _explain_error(params: type[Params], error: ErrorDetails) -> str:
    """Kinds of error without OpenCode's words keep pydantic's."""
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
        case str(kind) if kind in _TYPE_NAMES:
            return f"Expected {_TYPE_NAMES[kind]}{' | undefined' if _is_optional(params, error) else ''}, got {found}"
        case _:
            return f"{error['msg']}, got {found}"


def _is_optional(params: type[Params], error: ErrorDetails) -> bool:
    named = [field for name, field in params.model_fields.items() if (field.alias or name) == error["loc"][0]]
    return len(error["loc"]) == 1 and bool(named) and not named[0].is_required()
