"""New ids outside workflow code, from the wall clock and the system's randomness."""

import random
import time

from workflows.domain import ids


class Mint:
    """Makes ids that sort in the order of creation, also within a millisecond."""

    def __init__(self) -> None:
        self._source = random.SystemRandom()
        self._last = 0
        self._counter = 0

    def new(self, prefix: ids.Prefix) -> str:
        now = time.time_ns() // 1_000_000
        self._counter = self._counter + 1 if now == self._last else 0
        self._last = now
        return ids.mint(prefix, now, self._counter, self._source)
