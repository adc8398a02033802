"""The arguments of a call as people read them: every one of them, and no JSON where a sentence does."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import JsonValue

from worker.cli.look.text import exact

_MAIN: Final = {"read": "filePath", "glob": "pattern", "grep": "pattern"}  # the argument that names what is read
_PLAIN: Final = re.compile(r"""[^\s"'=]+""")
_BOXES: Final = {"pending": "[ ]", "completed": "[x]", "in_progress": "[~]", "cancelled": "[-]"}
_TODO: Final = {"content", "status", "priority"}


def spoken(tool: str, arguments: Mapping[str, Any]) -> str:
    """A call's arguments: one line of a call that reads or searches, else a line or a block for each argument."""
    match tool, dict(arguments):
        case "task", {"subagent_type": str(agent), "description": str(what), **others}:
            return "\n".join([f"{exact(agent)}: {exact(what)}", *_fields(others)])
        case "todowrite", {"todos": [*todos], **others} if not others and todos and all(map(_is_todo, todos)):
            return "\n".join(f"{todo(each)} ({exact(each['priority'])})" for each in todos)
        case _:
            return brief(tool, arguments) or "\n".join(_fields(arguments))


def brief(tool: str, arguments: Mapping[str, JsonValue]) -> str | None:
    """A call that reads or searches as one line, with every argument; None for all others."""
    main = _MAIN.get(tool)
    first = arguments.get(main) if main is not None else None
    others = {name: value for name, value in arguments.items() if name != main}
    if not isinstance(first, str) or any(isinstance(value, dict | list) for value in others.values()):
        return None
    return " ".join([tool, _value(first), *(f"{exact(name)}={_value(value)}" for name, value in others.items())])


def todo(task: Any) -> str:
    """A task of a list on one line."""
    status = str(task.get("status"))
    box = _BOXES.get(status) or f"[{exact(status)}]"
    return f"{box} {exact(str(task.get('content')))}"


def _is_todo(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == _TODO and all(isinstance(each, str) for each in value.values())


def _fields(arguments: Mapping[str, JsonValue]) -> Iterator[str]:
    """A line for each argument; the lines of a longer text stand below its name, further in than any name."""
    for name, value in arguments.items():
        if isinstance(value, str) and "\n" in value:
            yield f"{exact(name)}:"
            yield from (f"  {row}" for row in value.split("\n"))
        else:
            plain = isinstance(value, str) and value == value.strip() != ""
            yield f"{exact(name)}: {value if plain else json.dumps(value, ensure_ascii=False)}"


def _value(value: JsonValue) -> str:
    """An argument as it is, in quotes where it would not be seen where it ends."""
    plain = isinstance(value, str) and _PLAIN.fullmatch(value) is not None
    return str(value) if plain else json.dumps(value, ensure_ascii=False)
