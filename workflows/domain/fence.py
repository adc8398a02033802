"""Fencing tokens: which attempt may write."""

from typing import NamedTuple


class Fence(NamedTuple):
    """Fencing token: epoch, sequence number and attempt of a request, and the number that its execution has drawn.

    A rolled-back Temporal repeats requests: only the same execution is the same holder.
    """

    epoch: int
    sequence: int
    attempt: int
    execution: int

    def supersedes(self, holder: "Fence") -> bool:
        """Whether it is newer than the other; an equal attempt of another execution is not."""
        return self[:3] > holder[:3]

    def may_take(self, holder: "Fence | None") -> bool:
        """Whether this execution holds it, or may take over."""
        return holder is None or self == holder or self.supersedes(holder)
