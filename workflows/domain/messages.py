"""Messages and their parts, as stored."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, JsonValue

from workflows.domain.ids import MessageId, PartId, SessionId, TurnId
from workflows.domain.usage import Tokens
from workflows.domain.value import Value


class CallState(StrEnum):
    """A call's state in the ledger (design 6)."""

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
        """OpenCode's word; any settled state but DONE is an error."""
        words = {CallState.PREPARED: "pending", CallState.CLAIMED: "running", CallState.DONE: "completed"}
        return words.get(self, "error")


class TodosReplaced(Value):
    """The session's task list was replaced."""

    type: Literal["todos"] = "todos"
    todos: list[JsonValue]


class SubagentSettled(Value):
    """A subagent ended with its call: its session and its log's position."""

    type: Literal["subagent"] = "subagent"
    child: SessionId
    seq: int
    head: str


SessionChange: TypeAlias = TodosReplaced | SubagentSettled


class Outcome(Value):
    """A settled call's result: `output` for the model, the rest for people.

    `changes` to its session are made in the outcome's transaction and not stored with it.
    """

    title: str = ""
    output: str
    error: bool = False
    metadata: dict[str, JsonValue] = {}
    attachments: tuple[dict[str, JsonValue], ...] = ()
    changes: tuple[SessionChange, ...] = Field(default=(), exclude=True)


class TextPart(Value):
    type: Literal["text"] = "text"
    text: str


class ReasoningPart(Value):
    """A provider's visible reasoning; `details` are its signatures, sent back unchanged."""

    type: Literal["reasoning"] = "reasoning"
    text: str
    details: tuple[dict[str, JsonValue], ...] = ()


@dataclass(frozen=True, slots=True)
class RequestedCall:
    """A call as the model wrote it; `arguments` may be anything. `id` is unique within the answer."""

    id: str
    name: str
    arguments: str


class ToolPart(Value):
    """A call with its outcome, if any; `provider_id` is the provider's name for it."""

    type: Literal["tool"] = "tool"
    id: PartId
    provider_id: str
    tool: str
    arguments: dict[str, JsonValue]
    state: CallState
    outcome: Outcome | None = None


StoredPart: TypeAlias = Annotated[TextPart | ReasoningPart, Field(discriminator="type")]
Part: TypeAlias = Annotated[TextPart | ReasoningPart | ToolPart, Field(discriminator="type")]


class AnswerMetadata(Value):
    """An answer's cost (decimal string in US dollars, None if unknown) and why it ended."""

    finish: str
    agent: str
    model: str
    tokens: Tokens
    cost: str | None


class UserMessage(Value):
    """A taken prompt; `steered` when it came during its turn."""

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
    """A stored answer with its parts, in order."""

    role: Literal["assistant"] = "assistant"
    id: MessageId
    turn: TurnId
    step: int
    body: AnswerMetadata
    at: datetime
    parts: tuple[Part, ...] = ()


Message: TypeAlias = Annotated[UserMessage | AssistantMessage, Field(discriminator="role")]
Transcript: TypeAlias = tuple[Message, ...]
