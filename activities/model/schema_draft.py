"""JSON schemas of any draft, in the words of 2020-12."""

from typing import Any, Final

from activities.model.request_json import JsonDict

TYPES: Final = ("string", "number", "integer", "boolean", "object", "array", "null")
_OTHER_NAMES: Final = {  # of types, as programs write them
    **dict.fromkeys(("str", "text", "date", "datetime", "file", "uuid"), "string"),
    **dict.fromkeys(("int", "int32", "int64", "long"), "integer"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    **dict.fromkeys(("dict", "map"), "object"),
    **dict.fromkeys(("list", "tuple", "set"), "array"),
    "bool": "boolean",
    "none": "null",
}
_TYPE_OF_KEYWORD: Final = {  # for nodes without a type
    **dict.fromkeys(("properties", "required", "additionalProperties", "patternProperties"), "object"),
    **dict.fromkeys(("items", "prefixItems", "minItems", "maxItems"), "array"),
    **dict.fromkeys(("pattern", "format", "minLength", "maxLength"), "string"),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), "number"),
}


def kinds_of(node: JsonDict) -> list[str]:
    """The types that a value may have; none: any."""
    written = node.get("type")
    names = [each.lower() for each in (written if isinstance(written, list) else [written]) if isinstance(each, str)]
    kinds = [kind for name in names if (kind := _OTHER_NAMES.get(name, name)) in TYPES]
    if not kinds and isinstance(values := node.get("enum"), list):
        kinds = [value_kind(each) for each in values]
    if not kinds:
        kinds = [kind for keyword, kind in _TYPE_OF_KEYWORD.items() if keyword in node][:1]
    if node.get("nullable") is True and kinds:
        kinds.append("null")
    return [kind for kind in dict.fromkeys(kinds) if not (kind == "integer" and "number" in kinds)]


def value_kind(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case None:
            return "null"
        case list():
            return "array"
    return "object"


def modern(node: JsonDict) -> JsonDict:
    """A copy without the words of older drafts, and with lists where they belong."""
    changed = dict(node)
    if "const" in changed:
        changed["enum"] = [changed.pop("const")]
    if isinstance(changed.get("items"), list):  # a tuple, until 2019-09
        changed["prefixItems"] = changed.pop("items")
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):  # until draft 4
        if isinstance(changed.get(exclusive), bool) and changed.pop(exclusive) and bound in changed:
            changed[exclusive] = changed.pop(bound)
    if not isinstance(changed.get("enum", []), list):
        del changed["enum"]
    names = changed.pop("required", None)
    required = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    if isinstance(properties := changed.get("properties"), dict):  # of a property itself, until draft 3
        required += [
            name for name, each in properties.items() if isinstance(each, dict) and each.get("required") is True
        ]
    return {**changed, "required": required} if required else changed
