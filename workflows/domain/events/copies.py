"""Sessions and messages that were made from others."""

from typing import Literal

from workflows.domain.events.generations import PartSeal
from workflows.domain.ids import MessageId, NoteId, SessionId, TurnId
from workflows.domain.value import Value


class SessionForked(Value):
    """A person began this session with the messages of its `origin`: those before the message `before`, or all. `seq`
    and `head`: the last event of the origin's log then."""

    type: Literal["session.forked"] = "session.forked"
    origin: SessionId
    before: MessageId | None = None
    seq: int
    head: str


class SessionImported(Value):
    """A person began this session with an export of another program. `digest`: SHA-256 of the file. `origin`: its id
    there. `note`: what the file says besides messages."""

    type: Literal["session.imported"] = "session.imported"
    origin: str
    digest: str
    note: NoteId
    seal: str


class MessageCopied(Value):
    """The message `origin` of another session or an import: nothing of it happened here. `summary`: an answer that
    stands for what is before it, with `newest` and `media` as in `ContextCompacted`. `contents`: what was copied, each
    as events name it. Without a turn no model sees it."""

    type: Literal["message.copied"] = "message.copied"
    message: MessageId
    origin: str
    role: Literal["user", "assistant", "summary"]
    turn: TurnId | None = None
    step: int | None = None
    newest: MessageId | None = None
    media: bool = True
    contents: tuple[PartSeal, ...]
