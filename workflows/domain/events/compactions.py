"""Compactions that a person asks for."""

from typing import Literal

from workflows.domain.ids import CompactionId, NoteId, TurnId
from workflows.domain.value import Value


class CompactionAccepted(Value):
    """`note`: what the summary should keep above all."""

    type: Literal["compaction.accepted"] = "compaction.accepted"
    compaction: CompactionId
    note: NoteId | None = None
    seal: str | None = None


class CompactionTaken(Value):
    """This turn carries it out before its next step."""

    type: Literal["compaction.taken"] = "compaction.taken"
    compaction: CompactionId
    turn: TurnId


class CompactionWithdrawn(Value):
    """No turn will take it."""

    type: Literal["compaction.withdrawn"] = "compaction.withdrawn"
    compaction: CompactionId
    reason: str
