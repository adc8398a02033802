"""The number of a run's behaviour: what its code decides beyond its rows and settings.

Changing such a decision (which calls are quick, which activity comes next) takes a new number; a run of an earlier one
goes on as it began.
"""

from typing import Final

from workflows.domain.errors import UnknownBehaviour

NEWEST: Final = 1
KNOWN: Final = frozenset(range(1, NEWEST + 1))


def require_known(behaviour: int) -> None:
    """Raises UnknownBehaviour for a run that another release has begun."""
    if behaviour not in KNOWN:
        raise UnknownBehaviour(behaviour, KNOWN)
