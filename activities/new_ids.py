"""New ids outside workflow code, from the wall clock and the system's randomness."""

import random
import time
from typing import Final

from workflows.domain import ids

_RANDOM: Final = random.SystemRandom()


def new_id(prefix: ids.Prefix, after: str = "") -> str:
    """Ids sort in the order of creation, also within a millisecond: the counter is its 4096th part. `after`: an older
    id, of a clock that may be ahead."""
    milliseconds, nanoseconds = divmod(time.time_ns(), 1_000_000)
    new = ids.mint(prefix, milliseconds, nanoseconds * 4096 // 1_000_000, _RANDOM)
    return new if new[3:] > after[3:] else ids.next_id(prefix, after, _RANDOM)
