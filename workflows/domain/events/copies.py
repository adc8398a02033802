"""Sessions and messages that were made from others."""

from typing import Literal

from workflows.domain.events.generations import PartSeal
from workflows.domain.ids import MessageId, SessionId, TurnId
from workflows.domain.value import Value


class SessionForked(Value):
    """A person began this session with the messages of its `origin`: those before the message `before`, or all. `seq`
    and `head`: the last event of the origin's log then."""

    type: Literal["session.forked"] = "session.forked"
    origin: SessionId
    before: MessageId | None = None
    seq: int
    head: str


class MessageCopied(Value):
    """The message `origin` of another session, under new ids: nothing of it happened here. `summary`: an answer that
    stands for what is before it. `contents`: what was copied, each as events name it."""

    type: Literal["message.copied"] = "message.copied"
    message: MessageId
    origin: str
    role: Literal["user", "assistant", "summary"]
    turn: TurnId
    step: int
    contents: tuple[PartSeal, ...]
