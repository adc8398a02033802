"""New ids outside workflow code, from the wall clock and the system's randomness."""

import random
import time
from typing import Final

from workflows.domain import ids

_RANDOM: Final = random.SystemRandom()


def new_id(prefix: ids.Prefix) -> str:
    """Ids sort in the order of creation, also within a millisecond: the counter is its 4096th part."""
    milliseconds, nanoseconds = divmod(time.time_ns(), 1_000_000)
    return ids.mint(prefix, milliseconds, nanoseconds * 4096 // 1_000_000, _RANDOM)
