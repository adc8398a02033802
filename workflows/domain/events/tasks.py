"""A subagent's work for a call."""

from typing import Literal

from workflows.domain.ids import MessageId, PartId, SessionId
from workflows.domain.value import Value


class TaskStarted(Value):
    type: Literal["task.started"] = "task.started"
    call: PartId
    child: SessionId
    prompt: MessageId
    agent: str


class TaskSettled(Value):
    """The position of a subagent's log when its call was settled: the hash of event `seq`."""

    type: Literal["task.settled"] = "task.settled"
    call: PartId
    child: SessionId
    seq: int
    head: str
