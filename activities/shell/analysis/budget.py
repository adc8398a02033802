"""The work that an analysis may do: counted, not timed, so that slow machines judge alike."""

from typing import Final

from workflows.domain.errors import WorkBudgetExceeded

MAX_DIRECTORIES: Final = 32  # that the shell may be in
MAX_WORK: Final = 20_000  # parts of a text, times their directories


class WorkBudget:
    def __init__(self, units: int = MAX_WORK) -> None:
        self.left = units

    def spend(self, units: int = 1) -> None:
        """Raises WorkBudgetExceeded once nothing is left."""
        self.left -= units
        if self.left < 0:
            raise WorkBudgetExceeded
