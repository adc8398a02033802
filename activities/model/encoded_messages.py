"""JSON of a conversation's messages: a request encodes only what the one before did not have."""

import sys
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

_MOST_PIECES: Final = 64  # of a beginning: joining copies all of it

T = TypeVar("T")


class Group(NamedTuple):
    """Neighbours of one group are sent as one message, which begins with `opening`."""

    opening: bytes
    results: bool = False


Encoded: TypeAlias = tuple[Group | None, bytes]  # a message's group, if it does not stand alone, and its JSON, if any


@dataclass(slots=True)
class EncodedTurn:
    """A message as it is sent; `start`: the position of its first part in the conversation."""

    group: Group | None
    start: int
    contents: list[bytes] = field(default_factory=list)

    @property
    def json(self) -> bytes:
        content = b",".join(self.contents)
        return content if self.group is None else self.group.opening + content + b"]}"


@dataclass(frozen=True, slots=True)
class _Prefix:
    """`encoded`: all of `messages`, the last of them in `group`; empty without messages."""

    form: Hashable = None
    messages: tuple[object, ...] = ()
    group: Group | None = None
    encoded: tuple[bytes, ...] = ()


_NOTHING: Final = _Prefix()


class MessageEncoder:
    """Keeps the JSON of one conversation's beginning. It lives as long as the conversation in memory."""

    def __init__(self) -> None:
        self._prefix = _NOTHING
        self._searched: tuple[tuple[object, ...], tuple[Any, ...]] = (), ()  # messages, and what was found in them
        self._made: dict[Hashable, tuple[object, Any]] = {}

    def make_once(self, kind: Hashable, given: object, make: Callable[[], T]) -> T:
        """`make(given)`, cached by identity: most requests share their messages with the one before."""
        known = self._made.get(kind)
        if known is None or known[0] is not given:
            known = self._made[kind] = given, make()
        made: T = known[1]
        return made

    def find(self, messages: tuple[T, ...], wanted: Callable[[T], bool]) -> tuple[T, ...]:
        """The messages that are `wanted`, always the same question: it is asked of those alone that are new."""
        searched, found = self._searched
        if messages[: len(searched)] != searched:
            searched, found = (), ()
        found += tuple(filter(wanted, messages[len(searched) :]))
        self._searched = messages, found
        return found

    def encode(self, messages: tuple[T, ...], form: Hashable, encode: Callable[[T], Encoded]) -> tuple[bytes, ...]:
        """The JSON of all messages, in pieces; `form`: what `encode` depends on besides the message."""
        known, last = self.turns(messages, form, encode)
        return *known, *(turn.json for turn in last)

    def turns(
        self,
        messages: tuple[T, ...],
        form: Hashable,
        encode: Callable[[T], Encoded],
        open_turns: int = 1,
        open_from: int = sys.maxsize,
    ) -> tuple[tuple[bytes, ...], list[EncodedTurn]]:
        """The same, with the last few turns, and those from a position on, before they are joined: the next request may
        add to the last one, and moves the cache's marks."""
        known = self._prefix
        count = len(known.messages)
        if known.form != form or count > open_from or messages[:count] != known.messages:
            known = _NOTHING
        turns = _turns(messages, len(known.messages), encode)
        if known.group is not None and turns and turns[0].group == known.group:
            known, turns = _NOTHING, _turns(messages, 0, encode)
        end = max(len(turns) - open_turns, 0)
        while end and turns[end - 1].start >= open_from:
            end -= 1
        closed, last = turns[:end], turns[end:]
        if closed:
            encoded = (*known.encoded, *(turn.json for turn in closed))
            if len(encoded) > _MOST_PIECES:
                encoded = (b",".join(encoded),)
            known = self._prefix = _Prefix(form, messages[: last[0].start], closed[-1].group, encoded)
        return known.encoded, last


def _turns(messages: tuple[T, ...], start: int, encode: Callable[[T], Encoded]) -> list[EncodedTurn]:
    turns: list[EncodedTurn] = []
    for position in range(start, len(messages)):
        group, content = encode(messages[position])
        if not content:
            continue
        if group is None or not turns or turns[-1].group != group:
            turns.append(EncodedTurn(group, position))
        turns[-1].contents.append(content)
    return turns
