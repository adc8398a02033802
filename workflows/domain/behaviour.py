"""The number of a run's behaviour: what its code decides beyond its rows and settings.

Changing such a decision (which calls are quick, which activity comes next) takes a new number; a run of an earlier one
goes on as it began.
"""

from typing import Final

from workflows.domain.errors import UnknownBehaviour

COMPACTS: Final = 2  # from here on a context that the provider refuses as too long is compacted; before, the turn ends
TITLES: Final = 3  # from here on a session's first turn has a title asked for
LIMITS: Final = 4  # from here on a spent budget holds the turn up; before, it is only counted
WAITS_FOR_PROVIDERS: Final = 5  # from here on the run waits out a provider's long pauses; before, its activities do
COMPACTION_WAITS: Final = 6  # from here on the run waits out those of a compaction, too
OUTGROWS: Final = 7  # from here on a context that does not fit gets a larger model or a question; before, the turn ends
DAYS: Final = 8  # from here on a turn at the limit of a day goes on by itself when the day turns
CONTINUES: Final = 9  # from here on an answer that the output limit has cut is continued; before, it ends the turn
ORDERS: Final = (
    10  # from here on a quick call runs within the task beside others that wait; before, only beside quick ones
)
ASKS_IN_ORDER: Final = 11  # from here on the asks of an answer are opened one after the other; before, all at once
NEWEST: Final = 11
KNOWN: Final = frozenset(range(1, NEWEST + 1))


def require_known(behaviour: int) -> None:
    """Raises UnknownBehaviour for a run that another release has begun."""
    if behaviour not in KNOWN:
        raise UnknownBehaviour(behaviour, KNOWN)
