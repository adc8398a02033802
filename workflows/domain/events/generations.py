"""The outcome of asking a model. `turn` and `step` are a step's; an answer for another purpose has none."""

from typing import Final, Literal

from workflows.domain.generation import Purpose
from workflows.domain.ids import GenerationId, MessageId, NoteId, PartId, TurnId
from workflows.domain.usage import Tokens
from workflows.domain.value import Value

BEHIND_LIMIT: Final = "limit"  # the kind of a pause for a rate limit that another request has met
BEHIND_BUDGET: Final = "budget"  # and for what others have reserved of a budget


class ModelRetry(Value):
    """A provider failed (`note`); the next request is due at `next_at` (RFC 3339). `kind`: an HTTP status, "network",
    or BEHIND_LIMIT."""

    type: Literal["model.retry"] = "model.retry"
    generation: GenerationId
    purpose: Purpose = Purpose.STEP
    turn: TurnId | None = None
    step: int | None = None
    attempt: int
    kind: str
    note: NoteId
    seal: str
    next_at: str


class PauseEnded(Value):
    """A person has ended a provider's pause early."""

    type: Literal["model.pause_ended"] = "model.pause_ended"
    generation: GenerationId


class ContextCompacted(Value):
    """From now on the answer of `generation` stands for all up to and including the answer of this turn's step.

    `newest`: the newest answer then; `media`: whether models still see the pictures and documents up to it.
    `before` and `after`: tokens of the context, the latter estimated. `cost` as in `MessageCompleted`.
    """

    type: Literal["context.compacted"] = "context.compacted"
    generation: GenerationId
    turn: TurnId
    step: int
    newest: MessageId
    media: bool = True
    before: int
    after: int
    cost: str | None


class ContextPruned(Value):
    """From this turn on, the model sees the old results of tools up to and including that of `call` as cleared.

    `tokens`: how many more than before, by estimate.
    """

    type: Literal["context.pruned"] = "context.pruned"
    turn: TurnId
    call: PartId
    tokens: int


class CompactionFailed(Value):
    """The context for which this turn's step waits could not be compacted (`note`); `final`: nor can it by trying
    again."""

    type: Literal["context.compaction_failed"] = "context.compaction_failed"
    generation: GenerationId
    turn: TurnId
    step: int
    final: bool
    note: NoteId
    seal: str


class PartSeal(Value):
    part: PartId
    kind: str
    seal: str


class MessageCompleted(Value):
    """An answer was stored; `cost`: decimal string in US dollars, None if unknown. `reminders_seal`: of what its
    request told the model besides prompts and results, if anything."""

    type: Literal["message.completed"] = "message.completed"
    generation: GenerationId
    purpose: Purpose = Purpose.STEP
    message: MessageId
    turn: TurnId | None = None
    step: int | None = None
    finish: str
    tokens: Tokens
    cost: str | None
    parts: tuple[PartSeal, ...] = ()
    reminders_seal: str | None = None
