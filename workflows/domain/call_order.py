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
    SERVE = "serve"  # of a server elsewhere: after those of the same server that may change something there
    REST = "rest"  # it sees what was changed, and nothing waits for it
    NOTHING = "nothing"


class Extent(Value):
    """`paths`: what the call changes or looks at, files or all below directories; none: anything. `server`: whose tool
    it is; calls of two servers do not wait for each other."""

    act: Act
    paths: tuple[str, ...] = ()
    server: str = ""

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
    if call.server and earlier.server and call.server != earlier.server:
        return False
    match earlier.act:
        case Act.CHANGE:
            return call.act not in (Act.NOTHING, Act.SERVE) and call.meets(earlier)
        case Act.SERVE:
            return call.act is Act.SERVE
        case Act.LOOK | Act.COMMAND:
            return call.act is Act.CHANGE and call.meets(earlier)
        case Act.WORK:
            return call.act in (Act.CHANGE, Act.COMMAND)
        case _:
            return False
