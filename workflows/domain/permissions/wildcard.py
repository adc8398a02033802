"""Wildcards of permission rules (opencode.md 2.2): `*` is any text, also with `/` and newlines, `?` one character."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeVar

T = TypeVar("T")

_CACHED: Final = 4096  # compiled patterns: rules are matched again with every call


def matches(value: str, pattern: str) -> bool:
    """Whether the whole of `value` matches; a final space and star are optional: `ls *` matches `ls`."""
    return _compiled(pattern).fullmatch(value.replace("\\", "/")) is not None


def longest(value: str, rules: Mapping[str, T]) -> T | None:
    """What the longest matching pattern says; permission rules do not use it: there the last match wins."""
    return next((rules[pattern] for pattern in _longest_first(rules) if matches(value, pattern)), None)


def longest_structured(head: str, tail: Sequence[str], rules: Mapping[str, T]) -> T | None:
    """Like `longest` for a command: the pattern's first word is for `head`, the others appear in `tail` in order."""
    for pattern in _longest_first(rules):
        first, *rest = pattern.split()
        if matches(head, first) and _appear(rest, tail):
            return rules[pattern]
    return None


def _longest_first(rules: Mapping[str, T]) -> list[str]:
    return sorted(rules, key=lambda pattern: (len(pattern), pattern), reverse=True)


def _appear(patterns: Sequence[str], words: Sequence[str]) -> bool:
    rest = iter(words)
    return all(any(matches(word, pattern) for word in rest) for pattern in patterns if pattern != "*")


@lru_cache(_CACHED)
def _compiled(pattern: str) -> re.Pattern[str]:
    pattern = pattern.replace("\\", "/")
    tail = ""
    if pattern.endswith(" *"):
        pattern, tail = pattern[:-2], "(?: .*)?"
    first, *others = ("".join(map(_piece, part)) for part in re.split(r"\*+", pattern))
    # What stands between two stars is right where it is found first, so no other place is ever tried: the time grows
    # with the text, not with a power of it.
    between = "".join(f"(?>.*?{part})" for part in others[:-1])
    last = "".join(f".*{part}" for part in others[-1:])
    return re.compile(first + between + last + tail, re.DOTALL)


def _piece(character: str) -> str:
    return "." if character == "?" else re.escape(character)
