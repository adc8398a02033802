"""An export without what was written, read or done: its shape, names, times and numbers stay."""

from typing import Final

from pydantic import JsonValue

_NAMES: Final = (
    "action agent callID finish id messageID mime mode modelID name parentID permission projectID providerID reason "
    "role sessionID slug status tail_start_id tool type variant version"
)
_KEPT: Final = frozenset(_NAMES.split())
_FREE: Final = frozenset({"input", "metadata", "schema", "structured"})  # objects of any content


def sanitize_message(message: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """A message with its parts."""
    info, parts = message["info"], message["parts"]
    assert isinstance(info, dict) and isinstance(parts, list)
    return {"info": sanitize(info), "parts": [sanitize(part) for part in parts if isinstance(part, dict)]}


def sanitize(fields: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """A session, a message's fields, or a part: placeholders name the field and the id."""
    id = str(fields["id"])
    return {name: _sanitize(name, value, id, _KEPT) for name, value in fields.items()}


def _sanitize(name: str, value: JsonValue, id: str, kept: frozenset[str]) -> JsonValue:
    match value:
        case str() if name not in kept and value.strip():
            return f"[redacted:{name}:{id}]"
        case dict() if name in _FREE:
            return {"redacted": f"{name}:{id}"} if value else value
        case dict():
            inner = frozenset({"type"}) if name == "source" else kept  # its names are those of files and symbols
            return {each: _sanitize(each, held, id, inner) for each, held in value.items()}
        case list():
            return [_sanitize(name, each, id, kept) for each in value]
        case _:
            return value
