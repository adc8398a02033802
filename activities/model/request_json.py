"""JSON of requests, and text that it can hold."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from pydantic import JsonValue
from pydantic_core import to_json

JsonDict: TypeAlias = dict[str, Any]
_LARGE: Final = 2**16  # bytes of a piece


def utf8_safe(text: str) -> str:
    """`text` for UTF-8: a lone surrogate, stored as it came, is sent as U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def encode_json(value: Any) -> bytes:
    """JSON of what a model or a person wrote."""
    try:
        return to_json(value)
    except ValueError:  # a lone surrogate, or nested deeply
        return utf8_safe(json.dumps(value, ensure_ascii=False, separators=(",", ":"))).encode()


class EncodedJson(bytes):
    """JSON that is ready to be a member of a body."""


def encode_body(name: str, encoded: Iterable[bytes], others: JsonDict) -> tuple[bytes, ...]:
    """The pieces of a body; the values of its list `name` are encoded already, and perhaps other members."""
    pieces, between = [b'{"%b":[' % name.encode()], b""
    for each in encoded:
        pieces += (between, each)
        between = b","
    pieces.append(b"],")
    for member in [member for member, value in others.items() if isinstance(value, EncodedJson)]:
        pieces += (b'"%b":' % member.encode(), others.pop(member), b",")
    pieces.append(to_json(others)[1:])
    return tuple(_join_small(pieces))


def _join_small(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Large ones stay as they are: copying a conversation into new memory costs as much as sending it."""
    small: list[bytes] = []
    for piece in pieces:
        if len(piece) < _LARGE:
            small.append(piece)
            continue
        yield b"".join(small)
        yield piece
        small.clear()
    yield b"".join(small)


def merge_options(
    body: JsonDict,
    options: Mapping[str, JsonValue],
    paths: Mapping[str, tuple[str, ...]],
    default: tuple[str, ...] = (),
) -> JsonDict:
    """`body` with the options, at their paths in it or below `default`; `extra_body` goes in as it is."""
    for option, value in options.items():
        if option == "extra_body" and isinstance(value, dict):
            body.update(value)
            continue
        *outer, name = paths.get(option, (*default, option))
        target = body
        for each in outer:
            target = target.setdefault(each, {})
        if isinstance(value, dict) and isinstance(target.get(name), dict):
            target[name] = {**target[name], **value}
        else:
            target[name] = value
    return body


def parse_arguments(text: str) -> JsonDict:
    """A call's arguments as the object that some protocols want."""
    try:
        arguments = json.loads(text or "{}")
    except (ValueError, RecursionError):
        arguments = text
    return arguments if isinstance(arguments, dict) else {"arguments": arguments}


def sendable_id(id: str, form: re.Pattern[str]) -> str:
    """A call's id in this provider's form: another's may have one that it refuses."""
    return id if form.fullmatch(id) else hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:40]
