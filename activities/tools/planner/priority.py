"""The priority of the planner's process. It imports little: what it lowers begins with the other imports."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

_NICE: Final = 5  # turns of other sessions go first
_GROUP: Final = Path("/proc/self/autogroup")  # Linux divides time among sessions first, then in each (sched(7))


def lower_priority() -> None:
    """Have this process, which leads a session of its own, compute when others leave time for it."""
    os.nice(_NICE)
    with suppress(OSError):
        _GROUP.write_text(str(_NICE))
