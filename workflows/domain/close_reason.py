"""Closing a turn: why it ends."""

from enum import StrEnum


class CloseReason(StrEnum):
    DONE = "done"
    STOPPED = "stopped"
    REJECTED = "rejected"
    FAILED = "failed"
    ENDED = "ended"
