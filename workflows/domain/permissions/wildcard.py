"""Wildcards of permission rules (opencode.md 2.2): `*` is any text, also with `/` and newlines, `?` one character."""

import re
from functools import lru_cache
from typing import Final

_CACHED: Final = 4096  # compiled patterns: every call matches the rules


def matches(value: str, pattern: str) -> bool:
    """Whether a pattern matches. A final space and star are optional: `ls *` matches `ls`."""
    return _compiled(pattern).fullmatch(value.replace("\\", "/")) is not None


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
