"""A call's arguments for people: all of them, as sentences where possible, else as JSON."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import JsonValue

from worker.cli.render.escaping import escape_exact
from workflows.domain.call_display import TODO_BOXES, CallDisplay, DisplayKind

_PLAIN: Final = re.compile(r"""[^\s"'=]+""")
_TODO: Final = {"content", "status"}


def format_arguments(tool: str, arguments: Mapping[str, Any], display: CallDisplay) -> str:
    """One line for a call that reads or searches, else a line or a block per argument."""
    match dict(arguments):
        case {"todos": [*todos], **others} if not others and todos and all(map(_is_todo, todos)):
            return "\n".join(map(format_todo, todos))
        case _:
            heading, fields = _split_heading(arguments, display)
            return format_one_line_call(tool, arguments, display) or "\n".join([*heading, *_format_fields(fields)])


def format_one_line_call(tool: str, arguments: Mapping[str, JsonValue], display: CallDisplay) -> str | None:
    """None for a call that neither reads nor searches."""
    first = arguments.get(display.subject or "") if display.kind is DisplayKind.READ else None
    others = {name: value for name, value in arguments.items() if name != display.subject}
    if not isinstance(first, str) or any(isinstance(value, dict | list) for value in others.values()):
        return None
    named = (f"{escape_exact(name)}={_format_value(value)}" for name, value in others.items())
    return " ".join([tool, _format_value(first), *named])


def format_questions(arguments: Mapping[str, JsonValue]) -> str:
    match arguments:
        case {"questions": [*questions]}:
            texts = (each.get("question") for each in questions if isinstance(each, dict))
            return " ".join(escape_exact(text) for text in texts if isinstance(text, str))
    return ""


def format_todo(task: Any) -> str:
    status = str(task.get("status"))
    box = TODO_BOXES.get(status) or f"[{escape_exact(status)}]"
    return f"{box} {escape_exact(str(task.get('content')))}"


def _split_heading(
    arguments: Mapping[str, JsonValue], display: CallDisplay
) -> tuple[list[str], Mapping[str, JsonValue]]:
    values = [value for name in display.heading if isinstance(value := arguments.get(name), str)]
    if not values or len(values) < len(display.heading):
        return [], arguments
    others = {name: value for name, value in arguments.items() if name not in display.heading}
    return [": ".join(map(escape_exact, values))], others


def _is_todo(value: Any) -> bool:
    exact = isinstance(value, dict) and set(value) - {"priority"} == _TODO
    return exact and all(isinstance(each, str) for each in value.values())


def _format_fields(arguments: Mapping[str, JsonValue]) -> Iterator[str]:
    for name, value in arguments.items():
        if isinstance(value, str) and "\n" in value:
            yield f"{escape_exact(name)}:"
            yield from (f"  {row}" for row in value.split("\n"))
        else:
            plain = isinstance(value, str) and value == value.strip() != ""
            yield f"{escape_exact(name)}: {value if plain else json.dumps(value, ensure_ascii=False)}"


def _format_value(value: JsonValue) -> str:
    plain = isinstance(value, str) and _PLAIN.fullmatch(value) is not None
    return str(value) if plain else json.dumps(value, ensure_ascii=False)
