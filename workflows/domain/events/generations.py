"""The outcome of asking a model."""

from typing import Literal

from workflows.domain.ids import MessageId, NoteId, PartId, TurnId
from workflows.domain.usage import Tokens
from workflows.domain.value import Value


class ModelRetry(Value):
    """A provider failed (`note`); the next request is due at `next_at` (RFC 3339)."""

    type: Literal["model.retry"] = "model.retry"
    turn: TurnId
    step: int
    attempt: int
    kind: str
    note: NoteId
    seal: str
    next_at: str


class PartSeal(Value):
    part: PartId
    kind: str
    seal: str


class MessageCompleted(Value):
    """An answer was stored; `cost`: decimal string in US dollars, None if unknown."""

    type: Literal["message.completed"] = "message.completed"
    message: MessageId
    turn: TurnId
    step: int
    finish: str
    tokens: Tokens
    cost: str | None
    parts: tuple[PartSeal, ...] = ()
