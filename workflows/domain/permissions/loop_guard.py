"""The loop guard: a call repeated with the same input and the same results asks a person first (opencode.md 2.8)."""

from collections.abc import Sequence
from itertools import groupby, takewhile
from typing import Final

GUARD_REQUEST: Final = -1  # index of the guard's ask, before those of the plan's requests
PERMISSION: Final = "doom_loop"
LIMIT: Final = 3  # consecutive equal digests
ROUND: Final = 5  # equal calls with equal results, one after the other, of which the last one asks

Recent = Sequence[tuple[str, str | None]]  # digests of input and result of earlier calls, the newest first


def loop_digest(digest: str, recent: Recent) -> str:
    """What `find_repeats` compares: only the last LIMIT calls of a round are equal. `digest`: of the call's input."""
    equal = count_equal(recent) if recent and recent[0][0] == digest else 0
    return f"{digest}-{equal // ROUND}{min(equal % ROUND, ROUND - LIMIT)}{recent[0][1]}" if equal else digest


def count_equal(recent: Recent) -> int:
    """How many of the newest calls had the same input and the same result."""
    return len(list(takewhile(lambda call: call == recent[0], recent)))


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
