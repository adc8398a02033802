"""The members that a vendor's types for chat completions have, and what of a request does not fit them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from pydantic import TypeAdapter, ValidationError

Place: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True)
class Misfit:
    """What does not fit at `place`; without `reason`, the types have no such member."""

    place: Place
    reason: str | None = None

    @property
    def path(self) -> str:
        """`messages[1].content`"""
        return "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in self.place).removeprefix(".")


@dataclass(frozen=True)
class ChatForms:
    """The types (`TypedDict`) of a vendor's package; of messages by their role, of pieces of content by their type.

    `taken`: members of a request that the service takes, although the types lack them.
    """

    body: Any
    messages: Mapping[str, Any]
    pieces: Mapping[str, Any]
    call: Any
    call_function: Any
    tool: Any
    tool_function: Any
    taken: frozenset[str] = frozenset()

    def misfits(self, body: dict[str, Any]) -> Iterator[Misfit]:
        """In the order of the request."""
        known = {name: value for name, value in body.items() if name not in self.taken}
        yield from _unknown(self.body, known, ())
        for number, tool in enumerate(body.get("tools") or ()):
            place: Place = ("tools", number)
            yield from _misfits(self.tool, tool, place)
            yield from _misfits(self.tool_function, tool.get("function") or {}, (*place, "function"))
        for number, message in enumerate(body["messages"]):
            yield from self._message(message, ("messages", number))

    def _message(self, message: dict[str, Any], place: Place) -> Iterator[Misfit]:
        role = str(message.get("role"))
        if role not in self.messages:
            yield Misfit((*place, "role"), f"Invalid value: '{role}'.")
            return
        yield from _misfits(self.messages[role], message, place)
        for number, call in enumerate(message.get("tool_calls") or ()):
            inside = (*place, "tool_calls", number)
            yield from _misfits(self.call, call, inside)
            yield from _misfits(self.call_function, call.get("function") or {}, (*inside, "function"))
        content = message.get("content")
        for number, piece in enumerate(content if isinstance(content, list) else ()):
            inside = (*place, "content", number)
            if piece.get("type") in self.pieces:
                yield from _misfits(self.pieces[piece["type"]], piece, inside)
            else:
                yield Misfit((*inside, "type"), f"Invalid value: '{piece.get('type')}'.")


def _misfits(form: Any, value: dict[str, Any], place: Place) -> Iterator[Misfit]:
    yield from _unknown(form, value, place)
    try:
        _adapter(form).validate_python(value)
    except ValidationError as error:
        yield Misfit(place, str(error))


@cache
def _adapter(form: Any) -> TypeAdapter[Any]:
    return TypeAdapter(form)


def _unknown(form: Any, value: dict[str, Any], place: Place) -> Iterator[Misfit]:
    known = form.__required_keys__ | form.__optional_keys__
    yield from (Misfit((*place, name)) for name in value if name not in known)
