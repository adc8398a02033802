"""Turns and messages that are copied into a session: of another one, or of a file."""

from datetime import datetime

from pydantic import JsonValue

from workflows.domain.config.turn_config import TurnConfig
from workflows.domain.ids import GenerationId, MessageId, PartId, SessionId, TurnConfigId, TurnId, answer_id
from workflows.domain.messages import AnswerMetadata, CallState, NewPart, Outcome, Reminder
from workflows.domain.prompt import PromptContent
from workflows.domain.value import Value


class CopiedTurn(Value):
    """`instructed_by`: the copy of the prompt whose instructions it has."""

    id: TurnId
    number: int
    turn_config: TurnConfigId
    agent: str
    model: str
    variant: str | None = None
    instructed_by: MessageId | None = None
    step: int = 0
    reason: str
    error: str | None = None
    opened_at: datetime
    ended_at: datetime


class CopiedPrompt(Value):
    """`origin`: the message that it copies; `agent`, `model` and `variant` as it names them. `refers`: its references
    are still to be looked for; `mentions`: the subagents among them."""

    id: MessageId
    origin: str
    turn: TurnId
    step: int
    author: str
    mode: str = "steer"
    content: PromptContent
    agent: str | None = None
    model: str | None = None
    variant: str | None = None
    shown: int | None = None
    without_files: bool = False
    refers: bool = False
    mentions: list[str] = []
    at: datetime


class CopiedCall(Value):
    """A settled call. `ordered_by`: the copy of the prompt whose subtask it is."""

    id: PartId
    position: int
    provider_id: str
    tool: str
    arguments: dict[str, JsonValue]
    display: dict[str, JsonValue] = {}
    ordered_by: MessageId | None = None
    ordered_part: int | None = None
    state: CallState
    outcome: Outcome
    claimed_at: datetime | None = None
    settled_at: datetime | None = None


class CopiedAnswer(Value):
    """The answer of a turn's step, or with `newest` a summary of all up to it, made when that was the newest answer;
    `media`: whether models still see the pictures and documents up to that; `words`: how many characters of prompts."""

    generation: GenerationId
    origin: str
    turn: TurnId
    step: int
    newest: MessageId | None = None
    media: bool = True
    words: int = 0
    body: AnswerMetadata
    parts: tuple[NewPart, ...] = ()
    calls: tuple[CopiedCall, ...] = ()
    reminders: tuple[Reminder, ...] = ()
    at: datetime

    @property
    def message(self) -> MessageId:
        return answer_id(self.generation)


class ImportedMessage(Value):
    """A message as a prompt or an answer, or neither; `unknown`: what of it has no place there."""

    id: MessageId
    origin: str
    user: bool
    unknown: dict[str, JsonValue] = {}
    seen: CopiedPrompt | CopiedAnswer | None = None


class ImportedSession(Value):
    """A session's messages in order. `info`: what the file says of it; `digest`: its SHA-256."""

    id: SessionId
    title: str
    origin: str
    digest: str
    info: dict[str, JsonValue]
    turn_config: TurnConfig
    turns: tuple[CopiedTurn, ...]
    messages: tuple[ImportedMessage, ...]
