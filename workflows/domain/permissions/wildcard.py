"""Wildcards of permission rules (opencode.md 2.2): `*` is any text, also with `/` and newlines, `?` one character."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeVar

T = TypeVar("T")

_CACHED: Final = 4096  # compiled patterns: every call matches the rules


def matches(value: str, pattern: str) -> bool:
    """Whether a pattern matches. A final space and star are optional: `ls *` matches `ls`."""
    return _compiled(pattern).fullmatch(value.replace("\\", "/")) is not None


def longest_match(value: str, rules: Mapping[str, T]) -> T | None:
    """The longest matching pattern's value. Not for permission rules: there the last match wins."""
    return next((rules[pattern] for pattern in _longest_first(rules) if matches(value, pattern)), None)


def longest_command_match(head: str, tail: Sequence[str], rules: Mapping[str, T]) -> T | None:
    """`longest_match` for a command: the first word matches `head`, the others appear in `tail` in order."""
    for pattern in _longest_first(rules):
        first, *rest = pattern.split()
        if matches(head, first) and _appear_in_order(rest, tail):
            return rules[pattern]
    return None


def _longest_first(rules: Mapping[str, T]) -> list[str]:
    return sorted(rules, key=lambda pattern: (len(pattern), pattern), reverse=True)


def _appear_in_order(patterns: Sequence[str], words: Sequence[str]) -> bool:
    rest = iter(words)
    return all(any(matches(word, pattern) for word in rest) for pattern in patterns if pattern != "*")


@lru_cache(_CACHED)
def _compiled(pattern: str) -> re.Pattern[str]:
    pattern = pattern.replace("\\", "/")
    tail = ""
    if pattern.endswith(" *"):
        pattern, tail = pattern[:-2], "(?: .*)?"
    first, *others = ("".join(map(_piece, part)) for part in re.split(r"\*+", pattern))
    # The first match between two stars suffices: time is linear in the text.
    between = "".join(f"(?>.*?{part})" for part in others[:-1])
    last = "".join(f".*{part}" for part in others[-1:])
    return re.compile(first + between + last + tail, re.DOTALL)


def _piece(character: str) -> str:
    return "." if character == "?" else re.escape(character)
