"""The states of a call."""

from enum import StrEnum


class CallState(StrEnum):
    """The state of a call in the ledger (design 6)."""

    PREPARED = "prepared"
    CLAIMED = "claimed"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"
    CANCELLED = "cancelled"
    REFUSED = "refused"

    @property
    def settled(self) -> bool:
        return self not in (CallState.PREPARED, CallState.CLAIMED)

    @property
    def status(self) -> str:
        """OpenCode's word; any settled state but DONE is an error."""
        words = {CallState.PREPARED: "pending", CallState.CLAIMED: "running", CallState.DONE: "completed"}
        return words.get(self, "error")
