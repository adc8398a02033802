"""TOOLS: the explicit table of what a model can call, and how each tool is described to it."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import JsonValue

import prompts
from activities.tools.bash import Bash
from activities.tools.edit.edit import Edit
from activities.tools.glob import Glob
from activities.tools.grep import Grep
from activities.tools.invalid import Invalid
from activities.tools.read import Read
from activities.tools.task import Task
from activities.tools.todo import TodoWrite
from activities.tools.tool import Tool
from activities.tools.write import Write

TOOLS: Final[dict[str, Tool[Any]]] = {
    tool.name: tool for tool in (Invalid(), Bash(), Read(), Glob(), Grep(), Edit(), Write(), TodoWrite(), Task())
}


def description(tool: Tool[Any], values: Mapping[str, str]) -> str:
    """What a model is told of a tool, filled. Tools that are never offered have no such text: LookupError."""
    return prompts.load(f"tools/{tool.name}", **values)


def schema(tool: Tool[Any]) -> dict[str, JsonValue]:
    """The JSON schema of a tool's arguments as a model gets it: without titles, references and null."""
    whole = tool.params.model_json_schema(by_alias=True)
    offered: dict[str, JsonValue] = _plain(whole, whole.pop("$defs", {}))
    return offered


def _plain(node: Any, definitions: dict[str, Any]) -> Any:
    match node:
        case {"$ref": str(reference)}:
            return _plain(definitions[reference.rsplit("/", 1)[-1]], definitions)
        case {"anyOf": [dict(only), {"type": "null"}]}:
            said = {key: value for key, value in node.items() if key == "description"}
            return _plain(only | said, definitions)
        case {"properties": dict(fields)}:
            named = {name: _plain(field, definitions) for name, field in fields.items()}
            return {"type": "object", "properties": named, "required": node.get("required", [])}
        case dict():
            return {key: _plain(value, definitions) for key, value in node.items() if key != "title"}
    return node
