"""Messages and their parts, as they are stored: what a person said, what a model answered, what its calls gave."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, JsonValue

from workflows.domain.ids import MessageId, PartId, TurnId
from workflows.domain.usage import Tokens
from workflows.domain.value import Value


class CallState(StrEnum):
    """How far a call is, in the ledger (design 6)."""

    PREPARED = "prepared"
    CLAIMED = "claimed"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"
    CANCELLED = "cancelled"
    REFUSED = "refused"

    @property
    def settled(self) -> bool:
        return self not in (CallState.PREPARED, CallState.CLAIMED)

    @property
    def status(self) -> str:
        """The word that OpenCode's clients know for it; whatever did not succeed is an error."""
        words = {CallState.PREPARED: "pending", CallState.CLAIMED: "running", CallState.DONE: "completed"}
        return words.get(self, "error")


class Outcome(Value):
    """What a settled call gave: `output` for the model, the rest for people. `error` marks what is no success."""

    title: str = ""
    output: str
    error: bool = False
    metadata: dict[str, JsonValue] = {}
    attachments: tuple[dict[str, JsonValue], ...] = ()


class TextPart(Value):
    type: Literal["text"] = "text"
    text: str


class ReasoningPart(Value):
    """Thinking that a provider shows; `details` are its own signatures, given back to it unchanged."""

    type: Literal["reasoning"] = "reasoning"
    text: str
    details: tuple[dict[str, JsonValue], ...] = ()


class ToolPart(Value):
    """A call with its outcome, if it has one; `provider_id` is the provider's own name for it."""

    type: Literal["tool"] = "tool"
    id: PartId
    provider_id: str
    tool: str
    arguments: dict[str, JsonValue]
    state: CallState
    outcome: Outcome | None = None


StoredPart: TypeAlias = Annotated[TextPart | ReasoningPart, Field(discriminator="type")]
Part: TypeAlias = Annotated[TextPart | ReasoningPart | ToolPart, Field(discriminator="type")]


class AnswerBody(Value):
    """What an answer cost and why it ended; `cost` is a decimal string in US dollars, None where it is not known."""

    finish: str
    agent: str
    model: str
    tokens: Tokens
    cost: str | None


class UserMessage(Value):
    """A prompt that was taken; `steered` when it came while its turn ran."""

    role: Literal["user"] = "user"
    id: MessageId
    turn: TurnId
    step: int
    text: str
    at: datetime

    @property
    def steered(self) -> bool:
        return self.step > 1


class AssistantMessage(Value):
    """A committed answer with its parts, in the order of the answer."""

    role: Literal["assistant"] = "assistant"
    id: MessageId
    turn: TurnId
    step: int
    body: AnswerBody
    at: datetime
    parts: tuple[Part, ...] = ()


Message: TypeAlias = Annotated[UserMessage | AssistantMessage, Field(discriminator="role")]
Transcript: TypeAlias = tuple[Message, ...]
