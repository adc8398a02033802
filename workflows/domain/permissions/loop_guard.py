"""The loop guard: a call repeated with the same input asks a person first (opencode.md 2.8)."""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

GUARD_REQUEST: Final = -1  # index of the guard's ask, before those of the plan's requests
PERMISSION: Final = "doom_loop"
LIMIT: Final = 3  # consecutive equal calls


def find_repeats(digests: Sequence[str], new: Sequence[str]) -> list[bool]:
    """For each call of a new step, whether it is in a run of at least LIMIT equal calls; `digests`: of the turn's
    earlier calls, in order. All calls in such a run wait, so a reject means that none ran."""
    first = len(digests)
    must_ask = [False] * len(new)
    for _, run in groupby(enumerate((*digests, *new)), key=lambda item: item[1]):
        positions = [position for position, _ in run]
        for position in positions if len(positions) >= LIMIT else ():
            if position >= first:
                must_ask[position - first] = True
    return must_ask
