"""LeftProcess: what an ended call has left running on its host."""

from workflows.domain.ids import PartId, SessionId
from workflows.domain.value import Value


class LeftProcess(Value):
    """`command`: the beginning, in one line."""

    session: SessionId
    call: PartId
    pid: int
    command: str
