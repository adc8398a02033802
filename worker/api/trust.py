"""What people have decided about the files of a project, as doors show it."""

from datetime import datetime

from workflows.domain.value import Value


class TrustDecision(Value):
    """`accepted`: else it stays ignored. `seq`: the number of its record; `method`: the door."""

    seq: int
    accepted: bool
    author: str
    method: str
    at: datetime
