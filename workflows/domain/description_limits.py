"""Limits of the lists of subagents and skills, which every request contains."""

from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

MAX_DESCRIPTION_CHARS: Final = 1024  # of one
MAX_LISTED_CHARS: Final = 64 * 1024  # of all of a kind, as one file of instructions has


class Described(Protocol):
    """An agent or a skill."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str | None: ...


D = TypeVar("D", bound=Described)


def split_listed(items: Sequence[D]) -> tuple[list[D], list[D]]:
    """Those that fit into the list, and those left out: the longest descriptions go first."""
    left, chosen = MAX_LISTED_CHARS, set[str]()
    for item in sorted(items, key=_length):
        left -= _length(item)
        chosen.update([item.name] if left >= 0 else [])
    return [each for each in items if each.name in chosen], [each for each in items if each.name not in chosen]


def _length(item: Described) -> int:
    return len(item.name) + len(shorten_description(item.description or ""))


def shorten_description(description: str) -> str:
    long = len(description) > MAX_DESCRIPTION_CHARS
    return f"{description[: MAX_DESCRIPTION_CHARS - 1]}…" if long else description
