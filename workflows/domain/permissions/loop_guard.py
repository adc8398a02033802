"""The loop guard: a call made over and over with the same input asks a person first (opencode.md 2.8)."""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

GUARD: Final = -1  # index of the guard's ask, which comes before the requests of the call's own plan
PERMISSION: Final = "doom_loop"
LIMIT: Final = 3  # consecutive calls with the same tool and identical input


def repeated(digests: Sequence[str], new: Sequence[str]) -> list[bool]:
    """For each call of a new step, whether it belongs to a run of at least three equal calls.

    `digests` are those of the turn's earlier calls, in order. Equal calls of one step are judged together: when
    the run reaches the limit, all of the step's calls in it are held, so that rejected means none of them ran.
    """
    first = len(digests)
    held = [False] * len(new)
    for _, run in groupby(enumerate((*digests, *new)), key=lambda item: item[1]):
        places = [place for place, _ in run]
        for place in places if len(places) >= LIMIT else ():
            if place >= first:
                held[place - first] = True
    return held
