"""Exports, checked by what OpenCode's own description of its server says of sessions, messages and parts."""

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft202012Validator

_SCHEMA: Final = Path(__file__).parents[1] / "data" / "opencode_schema.json"


def check_export(document: dict[str, Any]) -> None:
    """Fail where OpenCode would refuse the export, or has no such field."""
    errors = [f"{error.json_path}: {error.message[:500]}" for error in _validator().iter_errors(document)]
    assert not errors, "\n".join(errors)


@cache
def _validator() -> Draft202012Validator:
    """A message or part is checked as the one kind that it says it is: errors name the field."""
    forms: dict[str, Any] = json.loads(_SCHEMA.read_text("utf-8"))["$defs"]
    message = {
        "type": "object",
        "properties": {
            "info": _by_name(forms, "Message", "role"),
            "parts": {"type": "array", "items": _by_name(forms, "Part", "type")},
        },
        "required": ["info", "parts"],
    }
    properties = {"info": {"$ref": "#/$defs/Session"}, "messages": {"type": "array", "items": message}}
    return Draft202012Validator({"$defs": forms, "properties": properties, "required": ["info", "messages"]})


def _by_name(forms: dict[str, Any], union: str, field: str) -> dict[str, Any]:
    kinds = [each["$ref"].rpartition("/")[2] for each in forms[union]["anyOf"]]
    names = {kind: forms[kind]["properties"][field]["enum"] for kind in kinds}
    rules = [
        {"if": {"properties": {field: {"enum": names[kind]}}}, "then": {"$ref": f"#/$defs/{kind}"}} for kind in kinds
    ]
    return {"properties": {field: {"enum": sum(names.values(), [])}}, "required": [field], "allOf": rules}
