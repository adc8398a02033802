"""New ids outside workflow code, from the wall clock and the system's randomness."""

import random
import time
from typing import Final

from workflows.domain import ids

_RANDOM: Final = random.SystemRandom()
_TOLERANCE: Final = 5 * 60 * 1000  # milliseconds between two clocks


def new_id(prefix: ids.Prefix, after: str = "") -> str:
    """Ids sort in the order of creation, also within a millisecond: the counter is its 4096th part. `after`: an older
    id, of a clock that may be ahead."""
    milliseconds, nanoseconds = divmod(time.time_ns(), 1_000_000)
    new = ids.mint(prefix, milliseconds, nanoseconds * 4096 // 1_000_000, _RANDOM)
    return new if new[3:] > after[3:] else ids.next_id(prefix, after, _RANDOM)


def is_ahead(id: str) -> bool:
    """Whether it sorts behind those of the next minutes; none sorts behind the last of all."""
    return id[3:] > ids.mint(ids.Prefix.MESSAGE, time.time_ns() // 1_000_000 + _TOLERANCE, 0, _RANDOM)[3:]
