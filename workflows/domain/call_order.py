"""The order of an answer's calls: which earlier ones each waits for.

Where one call may see what another changes, they happen in the order in which the model wrote them; all others run side
by side.
"""

from collections.abc import Sequence
from enum import StrEnum
from itertools import product
from pathlib import PurePath

from workflows.domain.value import Value


class Act(StrEnum):
    """What a call does with the work tree: see `_waits`."""

    CHANGE = "change"
    LOOK = "look"
    COMMAND = "command"  # one that only looks
    WORK = "work"  # of a subagent that may change files
    REST = "rest"  # it sees what was changed, and nothing waits for it
    NOTHING = "nothing"


class Extent(Value):
    """`paths`: what the call changes or looks at, files or all below directories; none: anything."""

    act: Act
    paths: tuple[str, ...] = ()

    def meets(self, other: "Extent") -> bool:
        if not self.paths or not other.paths:
            return True
        pairs = product(map(PurePath, self.paths), map(PurePath, other.paths))
        return any(one.is_relative_to(two) or two.is_relative_to(one) for one, two in pairs)


def find_waits(calls: Sequence[Extent]) -> list[tuple[int, ...]]:
    """For each call, the places of the earlier ones that it waits for."""
    return [
        tuple(at for at, earlier in enumerate(calls[:place]) if _waits(call, earlier))
        for place, call in enumerate(calls)
    ]


def _waits(call: Extent, earlier: Extent) -> bool:
    match earlier.act:
        case Act.CHANGE:
            return call.act is not Act.NOTHING and call.meets(earlier)
        case Act.LOOK | Act.COMMAND:
            return call.act is Act.CHANGE and call.meets(earlier)
        case Act.WORK:
            return call.act in (Act.CHANGE, Act.COMMAND)
        case _:
            return False
