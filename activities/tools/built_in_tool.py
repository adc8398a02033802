"""BuiltInTool: a tool with a prompt file and a model of its arguments."""

from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Final, Generic

from pydantic import JsonValue

from activities.tools.arguments import P, Params, validate_arguments
from activities.tools.tool import Tool
from prompts import render_prompt
from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.tool_offer import ToolOffer

_SENT: Final = ("type", "items", "enum")  # the description names defaults, and `parse` tells of limits


class BuiltInTool(Tool[P], Generic[P]):
    """Its description is `prompts/tools/NAME.md`, its schema that of `params`."""

    params: ClassVar[type[Params]]

    def description_values(self, turn_config: TurnConfig) -> dict[str, str] | None:
        """For the description's placeholders; None: not offered in this turn."""
        return {}

    def offer(self, turn_config: TurnConfig) -> ToolOffer | None:
        values = self.description_values(turn_config)
        if values is None:
            return None
        description = render_prompt(f"tools/{self.name}", **values)
        return ToolOffer(name=self.name, description=description, parameters=parameters_schema(self.params))

    def parse(self, arguments: Mapping[str, JsonValue]) -> P:
        params: P = validate_arguments(self.name, self.params, arguments)  # type: ignore[assignment]  # no ClassVar of P
        return params


@cache  # of classes: there are few
def parameters_schema(params: type[Params]) -> dict[str, JsonValue]:
    """For the model: names, types and values; the description says what for."""
    whole = params.model_json_schema(by_alias=True)
    offered: dict[str, JsonValue] = _inline_references(whole, whole.pop("$defs", {}))
    return offered


def _inline_references(node: Any, definitions: dict[str, Any]) -> Any:
    match node:
        case {"$ref": str(reference)}:
            return _inline_references(definitions[reference.rsplit("/", 1)[-1]], definitions)
        case {"anyOf": [dict(only), {"type": "null"}]}:
            return _inline_references(only, definitions)
        case {"properties": dict(fields)}:
            named = {name: _inline_references(field, definitions) for name, field in fields.items()}
            return {"type": "object", "properties": named, "required": node.get("required", [])}
        case dict():
            return {key: _inline_references(value, definitions) for key, value in node.items() if key in _SENT}
    return node
