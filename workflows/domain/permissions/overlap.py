"""Whether two wildcard patterns overlap, and whether one covers the other (opencode.md 2.2)."""

from collections.abc import Callable
from functools import lru_cache
from typing import Final

_CACHED: Final = 4096  # pairs: a configuration compares the same few patterns repeatedly

# A character of each pattern ("" at its end) and their positions → the positions where a common text may go on.
Transitions = Callable[[str, str, int, int], list[tuple[int, int]]]


@lru_cache(_CACHED)
def overlaps(one: str, other: str) -> bool:
    """Whether some text matches both patterns."""
    return any(_reaches_both_ends(a, b, _overlap_steps) for a in _forms(one) for b in _forms(other))


@lru_cache(_CACHED)
def covers(wide: str, narrow: str) -> bool:
    """Whether every text that matches `narrow` also matches `wide`; may miss a cover, never invents one."""
    return all(any(_reaches_both_ends(a, b, _cover_steps) for a in _forms(wide)) for b in _forms(narrow))


def _forms(pattern: str) -> tuple[str, ...]:
    """A pattern's forms: a final space and star are optional."""
    pattern = pattern.replace("\\", "/")
    return (pattern[:-2], pattern) if pattern.endswith(" *") else (pattern,)


def _reaches_both_ends(one: str, other: str, steps: Transitions) -> bool:
    todo, seen = [(0, 0)], {(0, 0)}
    while todo:
        i, j = todo.pop()
        if (i, j) == (len(one), len(other)):
            return True
        new = set(steps(one[i : i + 1], other[j : j + 1], i, j)) - seen
        seen |= new
        todo += new
    return False


def _overlap_steps(a: str, b: str, i: int, j: int) -> list[tuple[int, int]]:
    steps = []
    if a == "*":
        steps += [(i + 1, j)] + ([(i, j + 1)] if b else [])
    if b == "*":
        steps += [(i, j + 1)] + ([(i + 1, j)] if a else [])
    if a and b and "*" not in (a, b) and (a == b or "?" in (a, b)):
        steps.append((i + 1, j + 1))
    return steps


def _cover_steps(a: str, b: str, i: int, j: int) -> list[tuple[int, int]]:
    if a == "*":
        return [(i + 1, j)] + ([(i, j + 1)] if b else [])
    return [(i + 1, j + 1)] if a and b and b != "*" and a in ("?", b) else []
