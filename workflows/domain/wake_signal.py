"""The one signal of sessions."""

from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Final

from workflows.domain.ids import TurnId
from workflows.domain.value import WireValue

WAKE: Final = "wake"  # its name


class WakeKind(StrEnum):
    """What came. WORK: a prompt or retry; SETTLED: the end of a subagent or of a wait on purpose; TITLE, SUMMARY: a
    person wants one; REFRESH: only that the rows have to be read."""

    WORK = "work"
    ANSWER = "answer"
    STOP = "stop"
    SETTLED = "settled"
    TITLE = "title"
    SUMMARY = "summary"
    RESUME = "resume"
    REFRESH = "refresh"


class Wake(WireValue):
    """Signal: a hint to read the rows; `subject`: id of one."""

    kind: WakeKind
    subject: str = ""
    turn: TurnId | None = None

    @classmethod
    def read(cls, arguments: Sequence[object]) -> "Wake | None":
        """What a signal brings. None: it is not one of ours, which anybody may send who reaches Temporal."""
        with suppress(ValueError):
            (body,) = arguments
            return cls.model_validate(body)
        return None
