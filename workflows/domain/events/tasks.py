"""A subagent's work for a call."""

from typing import Literal

from workflows.domain.ids import MessageId, PartId, SessionId
from workflows.domain.value import Value


class TaskStarted(Value):
    """In the `background`, the call ends at once, and a prompt has the result."""

    type: Literal["task.started"] = "task.started"
    call: PartId
    child: SessionId
    prompt: MessageId
    agent: str
    background: bool = False


class TaskSettled(Value):
    """The position of a subagent's log when its call was settled, or its result accepted: the hash of event `seq`."""

    type: Literal["task.settled"] = "task.settled"
    call: PartId
    child: SessionId
    seq: int
    head: str
