"""Tools' JSON schemas in the form that every provider takes.

Schemas of MCP servers come in every draft, and a provider refuses a whole request for one that it dislikes. So
references are written out, each node has one type, and unions name the types of their branches. What has no such form
goes into the description.
"""

import json
import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from activities.model.endpoint import Endpoint
from activities.model.request_json import JsonDict, encode_json, utf8_safe
from activities.model.schema_draft import kinds_of, modern, value_kind
from workflows.domain.tool_offer import ToolOffer

_LOG: Final = logging.getLogger(__name__)
_MOST_DEPTH: Final = 32  # levels of one schema; what is deeper may be anything
_MOST_NODES: Final = 2000  # of one schema with its references written out; what is more may be anything
_KEYWORDS: Final[Mapping[str, tuple[str, type | tuple[type, ...]]]] = {  # → the type that has it, and its value's
    "minLength": ("string", int),
    "maxLength": ("string", int),
    "pattern": ("string", str),
    "format": ("string", str),
    "minimum": ("number", (int, float)),
    "maximum": ("number", (int, float)),
    "exclusiveMinimum": ("number", (int, float)),
    "exclusiveMaximum": ("number", (int, float)),
    "minItems": ("array", int),
    "maxItems": ("array", int),
    "uniqueItems": ("array", bool),
    "minProperties": ("object", int),
    "maxProperties": ("object", int),
}
_OWN: Final = ("description", "default")  # of a union, not of its branches
_NOTE: Final = "a note on a node"  # no JSON schema has this word; for the end of the description
_WITHIN: Final = "the references that led to a property"  # another such word; its value is a tuple
_UNIONS: Final = ("anyOf", "oneOf")


@dataclass(frozen=True)
class SchemaRules:
    """What a family of models refuses of the common form.

    `keywords`: the ones that it takes, of those that bound a value (None: all). `text_values`: only texts can be listed
    (`enum`). `names`: of properties (None: any). `default_type`: of properties and items that may be anything, where
    each must have a type.
    """

    keywords: frozenset[str] | None = None
    text_values: bool = False
    names: re.Pattern[str] | None = None
    default_type: str | None = None


# ai.google.dev/gemini-api/docs/structured-output#json_schema_support; texts only: OpenCode's transform
_GEMINI: Final = SchemaRules(
    keywords=frozenset({"minimum", "maximum", "minItems", "maxItems", "default"}), text_values=True
)
# "property names outside letters, digits, underscores, dots, and hyphens (1-64 characters)" are refused
_CLAUDE: Final = SchemaRules(names=re.compile(r"[a-zA-Z0-9_.-]{1,64}"))
# "At path 'properties.x': type is not defined"
_KIMI: Final = SchemaRules(default_type="string")
_FAMILIES: Final = (
    (re.compile("gemini"), _GEMINI),
    (re.compile("kimi|moonshot"), _KIMI),
    (re.compile("claude|anthropic"), _CLAUDE),
)


def rules_for(endpoint: Endpoint) -> SchemaRules:
    """By the wire, and by the model's name: many providers serve a family."""
    name = f"{endpoint.wire}/{endpoint.model}/{endpoint.behind}".lower()
    return next((rules for pattern, rules in _FAMILIES if pattern.search(name)), SchemaRules())


def clean_tools(endpoint: Endpoint, tools: tuple[ToolOffer, ...]) -> tuple[ToolOffer, ...]:
    """The tools with schemas that the endpoint's model takes. One that cannot have such a schema is left out, and
    logged by its name."""
    rules = rules_for(endpoint)
    cleaned = []
    for tool in tools:
        offer, wrong = _clean_offer(tool.name, tool.description, encode_json(tool.parameters), rules)
        if wrong is None:
            cleaned.append(offer)
        else:
            _LOG.warning(
                "%s is not offered the tool %r: it refuses the parameter %r.", endpoint.model, tool.name, wrong
            )
    return tuple(cleaned)


@lru_cache(maxsize=512)  # a turn's tools are the same in each step
def _clean_offer(name: str, description: str, schema: bytes, rules: SchemaRules) -> tuple[ToolOffer, str | None]:
    """The offer, and a parameter's name that is refused, if any."""
    cleaned = _Cleaner(json.loads(schema), rules).clean_root()
    offer = ToolOffer(name=name, description=utf8_safe(description), parameters=cleaned)
    return offer, _refused_name(cleaned, rules)


def _refused_name(node: Any, rules: SchemaRules) -> str | None:
    if rules.names is None or not isinstance(node, dict):
        return None
    properties = node.get("properties", {})
    below = (*properties.values(), node.get("items"), node.get("additionalProperties"), *node.get("anyOf", ()))
    wrong = (name for name in properties if not rules.names.fullmatch(name))
    return next(wrong, None) or next(filter(None, (_refused_name(each, rules) for each in below)), None)


class _Cleaner:
    """Cleans one schema."""

    def __init__(self, root: JsonDict, rules: SchemaRules) -> None:
        self._root = root
        self._rules = rules
        self._nodes = 0

    def clean_root(self) -> JsonDict:
        node, within = self._expand(self._root, ())
        node = self._merge_branches(node, within)
        if "object" not in kinds_of(node):
            node = {"description": node.get("description")}
        return self._of_kind(node, "object", within, 0)

    def clean(self, node: Any, within: tuple[str, ...], depth: int) -> JsonDict:
        """`within`: the references that led here."""
        self._nodes += 1
        if not isinstance(node, dict) or depth > _MOST_DEPTH or self._nodes > _MOST_NODES:
            return {}
        led = node.get(_WITHIN)
        node, within = self._expand(node, led if isinstance(led, tuple) else within)
        if isinstance(node.get("properties"), dict):
            node = self._merge_branches(node, within)
        kinds = kinds_of(node)
        if branches := _branches(node):
            shared = {key: value for key, value in node.items() if key not in (*_UNIONS, *_OWN)}
            return self._union(node, [self.clean({**shared, **each}, within, depth + 1) for each in branches])
        if len(kinds) > 1:
            inner = {key: value for key, value in node.items() if key not in _OWN}
            return self._union(node, [self._of_kind(inner, kind, within, depth) for kind in kinds])
        return self._of_kind(node, kinds[0] if kinds else None, within, depth)

    def _union(self, node: JsonDict, options: list[JsonDict]) -> JsonDict:
        distinct = [each for number, each in enumerate(options) if each not in options[:number]]
        if {} in distinct:
            return self._described({}, node)
        if len(distinct) == 1:
            return self._described(distinct[0], node)
        if all(each.keys() == {"type", "enum"} and each["type"] == distinct[0]["type"] for each in distinct):
            values = [value for each in distinct for value in each["enum"]]
            return self._described({"type": distinct[0]["type"], "enum": [*dict.fromkeys(values)]}, node)
        return self._described({"anyOf": distinct}, node)

    def _of_kind(self, node: JsonDict, kind: str | None, within: tuple[str, ...], depth: int) -> JsonDict:
        form: JsonDict = {"type": kind} if kind else {}
        notes = []
        values = [each for each in node.get("enum") or () if _is_kind(each, kind)]
        if values and kind in ("string", "integer", "number"):
            if kind != "string" and self._rules.text_values:
                notes.append(f"One of {', '.join(map(str, values))}.")
            else:
                form["enum"] = values
        for keyword, (owner, value_type) in _KEYWORDS.items():
            mine = owner == kind or (owner == "number" and kind == "integer")
            if mine and _is_valid(node.get(keyword), owner, value_type) and self._takes(keyword):
                form[keyword] = node[keyword]
        if kind == "array":
            form["items"] = self._items(node, within, depth)
        if kind == "object":
            form |= self._members(node, within, depth)
        return self._described(form, node, notes)

    def _items(self, node: JsonDict, within: tuple[str, ...], depth: int) -> JsonDict:
        """One schema for all items; for those of a tuple, any of theirs. Gemini wants a type."""
        items = {"anyOf": node["prefixItems"]} if isinstance(node.get("prefixItems"), list) else node.get("items")
        cleaned = self._typed(self.clean(items, within, depth + 1))
        return cleaned or ({"type": "string"} if self._rules.text_values else {})

    def _members(self, node: JsonDict, within: tuple[str, ...], depth: int) -> JsonDict:
        properties = _dict(node.get("properties"))
        form: JsonDict = {
            "properties": {name: self._typed(self.clean(each, within, depth + 1)) for name, each in properties.items()}
        }
        if required := [name for name in node["required"] if name in properties] if "required" in node else []:
            form["required"] = [*dict.fromkeys(required)]
        others = node.get("additionalProperties")
        if others is False and (patterns := _dict(node.get("patternProperties"))):
            others = {"anyOf": [*patterns.values()]}
        if isinstance(others, bool):
            form["additionalProperties"] = others
        elif isinstance(others, dict):
            cleaned = self.clean(others, within, depth + 1)
            form["additionalProperties"] = self._typed(cleaned) if cleaned else True
        return form

    def _described(self, form: JsonDict, node: JsonDict, notes: Iterable[str] = ()) -> JsonDict:
        """`form` with the words of `node`; a branch's own stay where the union has none."""
        words = [node.get("description") or form.get("description"), node.get(_NOTE), *notes]
        if text := " ".join(str(each) for each in words if each):
            form = {**form, "description": text}
        return {**form, "default": node["default"]} if "default" in node and self._takes("default") else form

    def _typed(self, form: JsonDict) -> JsonDict:
        if self._rules.default_type is None or not form.keys().isdisjoint(("type", "anyOf")):
            return form
        return {"type": self._rules.default_type, **form}

    def _takes(self, keyword: str) -> bool:
        return self._rules.keywords is None or keyword in self._rules.keywords

    def _expand(self, node: JsonDict, within: tuple[str, ...]) -> tuple[JsonDict, tuple[str, ...]]:
        """The node with its reference and the parts of its `allOf` written out, in today's words."""
        while isinstance(reference := node.get("$ref"), str):
            target = _dict(self._target(reference))
            if reference in within:  # it holds itself: the inner one says only what it is
                target = {key: target[key] for key in ("type", "description") if key in target}
            within = (*within, reference)
            node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
        node = modern(node)
        parts = node.pop("allOf", None)
        node, below = _led_by(within, node), within
        for part in parts if isinstance(parts, list) else ():
            self._nodes += 1
            if isinstance(part, dict) and self._nodes <= _MOST_NODES:
                expanded, inner = self._expand(part, within)
                node, below = _joined(node, expanded), below + inner[len(within) :]
        return node, below

    def _target(self, reference: str) -> Any:
        """What a JSON pointer in this document names; None: nothing, or another document."""
        found: Any = self._root if reference.startswith("#") else None
        for step in reference.removeprefix("#").split("/")[1:]:
            found = _dict(found).get(step.replace("~1", "/").replace("~0", "~"))
        return found

    def _merge_branches(self, node: JsonDict, within: tuple[str, ...]) -> JsonDict:
        """An object with all properties of its branches: a root may be no union, and branches often only say which
        properties are needed together."""
        branches = [self._expand(each, within)[0] for each in _branches(node)]
        if not branches:
            return node
        own = _dict(node.get("properties"))
        known: dict[str, list[Any]] = {}
        for branch in branches:
            for name, each in _dict(branch.get("properties")).items():
                known.setdefault(name, []).append(each)
        found = {name: each[0] if len(each) == 1 else {"anyOf": each} for name, each in known.items()}
        needed = [[name for name in branch.get("required", ()) if name in own | found] for branch in branches]
        common = [name for name in needed[0] if all(name in names for names in needed)]
        more = [" and ".join(name for name in names if name not in common) for names in needed]
        merged = {key: value for key, value in node.items() if key not in _UNIONS}
        merged |= {"type": "object", "properties": found | own, "required": [*node.get("required", ()), *common]}
        return merged | ({_NOTE: f"It needs {', or '.join(filter(None, more))}."} if any(more) else {})


def _is_kind(value: Any, kind: str | None) -> bool:
    return value_kind(value) == kind or (value_kind(value) == "integer" and kind == "number")


def _is_valid(value: Any, owner: str, value_type: type | tuple[type, ...]) -> bool:
    if not isinstance(value, value_type) or isinstance(value, bool) is not (value_type is bool):
        return False
    return owner == "number" or not isinstance(value, int) or value >= 0


def _branches(node: JsonDict) -> list[JsonDict]:
    unions = (each for key in _UNIONS if isinstance(each := node.get(key), list))
    return [each for union in unions for each in union if isinstance(each, dict)]


def _led_by(within: tuple[str, ...], node: JsonDict) -> JsonDict:
    """The node with these references on its properties: those of other parts get theirs."""
    if not isinstance(properties := node.get("properties"), dict):
        return node
    noted = {name: {_WITHIN: within, **each} if isinstance(each, dict) else each for name, each in properties.items()}
    return {**node, "properties": noted}


def _joined(node: JsonDict, part: JsonDict) -> JsonDict:
    properties = _dict(part.get("properties")) | _dict(node.get("properties"))
    required = [*part.get("required", ()), *node.get("required", ())]
    joined = {**part, **node}
    joined |= {"properties": properties} if properties else {}
    return joined | ({"required": required} if required else {})


def _dict(value: Any) -> JsonDict:
    return value if isinstance(value, dict) else {}
