"""What a check of the stack finds, and what to do about it."""

from enum import StrEnum
from typing import TypeAlias

from workflows.domain.value import Value


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
