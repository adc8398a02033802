"""The cost of failpoints that are not armed, as everywhere outside of tests."""

import time
from statistics import median
from typing import Final

from activities.failpoints import io_failpoint
from bench.figure_table import Budget, Figure

_PASSED: Final = 41  # in a step: its 39 statements and 2 activities
_TIMES: Final = 20_000
_ROUNDS: Final = 7
_COST: Final = Budget(must=100, aim=30)


async def measure_unarmed() -> Figure:
    """Microseconds per step, with those of the measuring loop."""
    cost = median([await _round() for _ in range(_ROUNDS)])
    return Figure(f"{_PASSED} points for faults, none armed (µs in a step)", cost * _PASSED * 1e6, None, _COST)


async def _round() -> float:
    began = time.perf_counter()
    for _ in range(_TIMES):
        async with io_failpoint("external.sql", _cut):
            pass
    return (time.perf_counter() - began) / _TIMES


async def _cut() -> None: ...
