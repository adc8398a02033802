"""A call that waits on purpose."""

from typing import Literal

from workflows.domain.ids import NoteId, PartId
from workflows.domain.value import Value
from workflows.domain.waits import WaitEnd, WaitKind


class WaitBegun(Value):
    """`until`: its moment, or the latest one (RFC 3339)."""

    type: Literal["wait.begun"] = "wait.begun"
    call: PartId
    kind: WaitKind
    until: str | None = None


class WaitEnded(Value):
    """`note`: the text of a poke."""

    type: Literal["wait.ended"] = "wait.ended"
    call: PartId
    end: WaitEnd
    note: NoteId | None = None
    seal: str | None = None
