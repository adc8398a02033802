"""The priority of the planner's process. Imports little: it applies before the other imports."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

_NICE: Final = 5  # turns of other sessions go first
_AUTOGROUP: Final = Path("/proc/self/autogroup")  # Linux divides time among sessions, then within each (sched(7))


def lower_priority() -> None:
    """Give this process, a session leader, the CPU time that others leave."""
    os.nice(_NICE)
    with suppress(OSError):
        _AUTOGROUP.write_text(str(_NICE))
