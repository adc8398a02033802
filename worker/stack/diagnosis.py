"""What a check of the stack finds, and what to do about it."""

from enum import StrEnum
from typing import Final, TypeAlias

from workflows.domain.value import Value

# That agents' commands are not isolated yet (security.md 8, level 1)
NOT_ISOLATED: Final = (
    "Commands of the agent are not isolated: they run as you, and may read and change whatever you may."
)
ISOLATION_REMEDY: Final = "Allow what you would run yourself, and be asked about the rest."


class Level(StrEnum):
    """Only a failure keeps sessions from running."""

    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"


class CheckResult(Value):
    """A check's finding and, if wrong, the remedy."""

    check: str
    level: Level
    message: str
    remedy: str = ""


Diagnosis: TypeAlias = tuple[Level, str, str]  # level, finding, remedy
