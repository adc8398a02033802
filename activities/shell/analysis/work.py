"""Work: how much an analysis may do. It is counted, not timed, so that a verdict is the same on a slow machine."""

from typing import Final

MOST_PLACES: Final = 32  # directories that the shell may be in
MOST_WORK: Final = 20_000  # parts of a text, times the directories that they are looked at in


class TooMuchWork(Exception):
    """What is looked at cannot be checked within the bounds: it has to be asked about."""


class Work:
    """What is left of the work that one analysis may do."""

    def __init__(self, units: int = MOST_WORK) -> None:
        self.left = units

    def spend(self, units: int = 1) -> None:
        """Raises TooMuchWork when nothing is left, and from then on."""
        self.left -= units
        if self.left < 0:
            raise TooMuchWork
