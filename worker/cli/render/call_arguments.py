"""A call's arguments for people: all of them, as sentences where possible, else as JSON."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import JsonValue

from worker.cli.render.formatting import escape_exact

_MAIN: Final = {"read": "filePath", "glob": "pattern", "grep": "pattern"}  # the argument that names what is read
_PLAIN: Final = re.compile(r"""[^\s"'=]+""")
_BOXES: Final = {"pending": "[ ]", "completed": "[x]", "in_progress": "[~]", "cancelled": "[-]"}
_TODO: Final = {"content", "status", "priority"}


def format_arguments(tool: str, arguments: Mapping[str, Any]) -> str:
    """One line for a call that reads or searches, else a line or a block per argument."""
    match tool, dict(arguments):
        case "task", {"subagent_type": str(agent), "description": str(what), **others}:
            return "\n".join([f"{escape_exact(agent)}: {escape_exact(what)}", *_format_fields(others)])
        case "todowrite", {"todos": [*todos], **others} if not others and todos and all(map(_is_todo, todos)):
            return "\n".join(f"{format_todo(each)} ({escape_exact(each['priority'])})" for each in todos)
        case _:
            return format_one_line_call(tool, arguments) or "\n".join(_format_fields(arguments))


def format_one_line_call(tool: str, arguments: Mapping[str, JsonValue]) -> str | None:
    """A reading or searching call with every argument; None for all others."""
    main = _MAIN.get(tool)
    first = arguments.get(main) if main is not None else None
    others = {name: value for name, value in arguments.items() if name != main}
    if not isinstance(first, str) or any(isinstance(value, dict | list) for value in others.values()):
        return None
    return " ".join(
        [
            tool,
            _format_value(first),
            *(f"{escape_exact(name)}={_format_value(value)}" for name, value in others.items()),
        ]
    )


def format_todo(task: Any) -> str:
    status = str(task.get("status"))
    box = _BOXES.get(status) or f"[{escape_exact(status)}]"
    return f"{box} {escape_exact(str(task.get('content')))}"


def _is_todo(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == _TODO and all(isinstance(each, str) for each in value.values())


def _format_fields(arguments: Mapping[str, JsonValue]) -> Iterator[str]:
    """A line per argument; longer texts stand indented below their name."""
    for name, value in arguments.items():
        if isinstance(value, str) and "\n" in value:
            yield f"{escape_exact(name)}:"
            yield from (f"  {row}" for row in value.split("\n"))
        else:
            plain = isinstance(value, str) and value == value.strip() != ""
            yield f"{escape_exact(name)}: {value if plain else json.dumps(value, ensure_ascii=False)}"


def _format_value(value: JsonValue) -> str:
    """Quotes a value whose end would not be seen."""
    plain = isinstance(value, str) and _PLAIN.fullmatch(value) is not None
    return str(value) if plain else json.dumps(value, ensure_ascii=False)
