"""Messages and their parts, as stored."""

from base64 import b64decode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final, Literal, TypeAlias
from urllib.parse import unquote_to_bytes

from pydantic import Field, JsonValue

from workflows.domain.call_state import CallState as CallState
from workflows.domain.file_changes import FileChanged, FileVersion
from workflows.domain.ids import GenerationId, MessageId, PartId, SessionId, TurnId
from workflows.domain.output_format import STRUCTURED_OUTPUT, OutputFormat
from workflows.domain.reminder_tags import escape_reminders
from workflows.domain.usage import Tokens
from workflows.domain.value import Value


class TodosReplaced(Value):
    type: Literal["todos"] = "todos"
    todos: list[JsonValue]


class SubagentSettled(Value):
    """A subagent's end: its log's position."""

    type: Literal["subagent"] = "subagent"
    child: SessionId
    seq: int
    head: str


SessionChange: TypeAlias = TodosReplaced | SubagentSettled | FileChanged


class Outcome(Value):
    """A settled call's result: `output` for the model, the rest for people. `reminder_at`: where a reminder of ours
    begins in it, up to its end. `versions`: of files. `changes` to its session are made in the outcome's transaction
    and not stored with it."""

    title: str = ""
    output: str
    reminder_at: int | None = Field(default=None, exclude_if=lambda place: place is None)
    error: bool = False
    metadata: dict[str, JsonValue] = {}
    attachments: tuple[dict[str, JsonValue], ...] = ()
    versions: tuple[FileVersion, ...] = Field(default=(), exclude_if=lambda versions: not versions)
    changes: tuple[SessionChange, ...] = Field(default=(), exclude=True)

    @property
    def model_text(self) -> str:
        """What models are sent of it."""
        place = len(self.output) if self.reminder_at is None else self.reminder_at
        return escape_reminders(self.output[:place]) + self.output[place:]


FILE_URL: Final = "file:"
DATA_URL: Final = "data:"
PLAIN_TEXT: Final = "text/plain"
DIRECTORY: Final = "application/x-directory"


FINAL_ANSWER: Final = "final_answer"


class TextPart(Value):
    """`phase`: what its model calls a message of an answer, `FINAL_ANSWER` or "commentary" on the way there."""

    type: Literal["text"] = "text"
    text: str
    phase: str | None = Field(default=None, exclude_if=lambda phase: phase is None)


class FilePart(Value):
    """A file or directory: `url` names it (`file:`, with `?start=10&end=20` for lines) or contains it (`data:`).
    `note`: what models are told of it."""

    type: Literal["file"] = "file"
    mime: str
    url: str
    filename: str | None = None
    note: str | None = Field(default=None, exclude_if=lambda note: note is None)

    @property
    def is_named(self) -> bool:
        return self.url.startswith(FILE_URL)

    @property
    def is_text(self) -> bool:
        return self.mime.startswith("text/")

    @property
    def content(self) -> bytes:
        """The bytes in a `data:` URL. Raises ValueError."""
        head, comma, content = self.url.partition(",")
        if not head.startswith(DATA_URL) or not comma:
            raise ValueError(head[:100])
        return b64decode(content, validate=True) if head.endswith(";base64") else unquote_to_bytes(content)


class AgentPart(Value):
    """A mention of a subagent that shall work."""

    type: Literal["agent"] = "agent"
    name: str


class SubtaskPart(Value):
    """Work for a subagent that no model has to ask for; `command`: its slash command."""

    type: Literal["subtask"] = "subtask"
    agent: str
    description: str
    prompt: str
    model: str | None = None
    variant: str | None = None
    command: str | None = None

    @property
    def arguments(self) -> dict[str, JsonValue]:
        """The arguments of the call of `task` that it becomes."""
        return {"description": self.description, "prompt": self.prompt, "subagent_type": self.agent}


class ShellPart(Value):
    """A command whose output stands at `start` to `end` of an earlier `part` of the prompt, for models; it runs before
    the turn's first request."""

    type: Literal["shell"] = "shell"
    part: int
    start: int
    end: int
    command: str

    @property
    def arguments(self) -> dict[str, JsonValue]:
        """The arguments of the call of `bash` that it becomes."""
        return {"command": self.command}


class TaskEnd(Value):
    """The end of a background task, for people: of a `call`, by the `agent` of a session. `title`: its description."""

    call: PartId
    child: SessionId
    agent: str
    title: str
    failed: bool


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
    """`provider_id` is the provider's name for the call."""

    type: Literal["tool"] = "tool"
    id: PartId
    provider_id: str
    tool: str
    arguments: dict[str, JsonValue]
    state: CallState
    outcome: Outcome | None = None


StoredPart: TypeAlias = Annotated[TextPart | ReasoningPart, Field(discriminator="type")]
Part: TypeAlias = Annotated[TextPart | ReasoningPart | ToolPart, Field(discriminator="type")]
PromptPart: TypeAlias = Annotated[
    TextPart | FilePart | AgentPart | SubtaskPart | ShellPart, Field(discriminator="type")
]


class NewPart(Value):
    """A finished text or reasoning part of an answer."""

    id: PartId
    position: int
    body: StoredPart


def join_texts(parts: Iterable[PromptPart]) -> str:
    return "\n\n".join(part.text for part in parts if isinstance(part, TextPart) and part.text)


FINISH_LENGTH: Final = "length"  # the answer is cut
FINISH_PAUSE: Final = "pause-turn"  # the answer goes back to its provider, and the model goes on
FINISH_BROKEN_OFF: Final = "broken-off"  # by a stop, or a failure that ends the turn: only its texts are known


class AnswerMetadata(Value):
    """`cost`: decimal string in US dollars, None if unknown. `bounded`: its request has named an output limit.
    `for_prompt`: its calls are the commands of a prompt, whose text holds their outputs: no model is sent it. `prefix`:
    what its thoughts are bound to, as a digest; None: to nothing. `explanation`: the provider's words for an end that
    is none of an answer."""

    finish: str
    agent: str
    model: str
    variant: str | None = None
    tokens: Tokens
    cost: str | None
    bounded: bool = False
    for_prompt: bool = False
    prefix: str | None = Field(default=None, exclude_if=lambda prefix: prefix is None)
    explanation: str = Field(default="", exclude_if=lambda text: not text)

    @property
    def is_cut(self) -> bool:
        """Whether the output limit has cut it. Without such a limit, the context was full, and a continuation would not
        fit."""
        return self.bounded and self.finish == FINISH_LENGTH


class UserMessage(Value):
    """A taken prompt; `steered` when it came during its turn. `system`, `tools`: what it says for its turn. `format`:
    the form of the turn's result. `shown`: how many characters models read of it, if not all; `without_files`: notes
    replace the files that it contains. `mentions`: the subagents that it names. `task_end`: the task whose result it
    is. `synthetic`: no person wrote it."""

    role: Literal["user"] = "user"
    id: MessageId
    turn: TurnId
    step: int
    parts: tuple[PromptPart, ...]
    system: str | None = None
    tools: dict[str, bool] | None = None
    shown: int | None = None
    without_files: bool = False
    mentions: tuple[str, ...] = ()
    format: OutputFormat | None = None
    task_end: TaskEnd | None = None
    synthetic: bool = False
    at: datetime

    @property
    def text(self) -> str:
        return join_texts(self.parts)

    @property
    def embedded_files(self) -> list[FilePart]:
        """Files that it contains, not only names."""
        return [part for part in self.parts if isinstance(part, FilePart) and part.url.startswith(DATA_URL)]

    @property
    def read_files(self) -> list[FilePart]:
        """Its files that are sent to models."""
        return [] if self.without_files else self.embedded_files

    @property
    def shown_length(self) -> int:
        return len(self.text) if self.shown is None else min(self.shown, len(self.text))

    @property
    def steered(self) -> bool:
        return self.step > 1


class AssistantMessage(Value):
    role: Literal["assistant"] = "assistant"
    id: MessageId
    turn: TurnId
    step: int
    body: AnswerMetadata
    at: datetime
    parts: tuple[Part, ...] = ()

    @property
    def is_cut(self) -> bool:
        """Whether the output limit has cut it in its text: the turn's next answer continues it."""
        has_text = any(isinstance(part, TextPart) and part.text.strip() for part in self.parts)
        called = any(isinstance(part, ToolPart) for part in self.parts)
        return self.body.is_cut and has_text and not called

    @property
    def structured(self) -> dict[str, JsonValue] | None:
        """The turn's result, if this answer gave it, and still has it."""
        return next((call.arguments for call in self._results() if call.outcome and call.outcome.metadata), None)

    @property
    def lost_result(self) -> bool:
        """Whether it gave a result that was deleted with what its calls held."""
        return self.structured is None and any(self._results())

    def _results(self) -> Iterator[ToolPart]:
        """Calls that give a result, the newest first."""
        calls = (part for part in reversed(self.parts) if isinstance(part, ToolPart))
        return (call for call in calls if call.tool == STRUCTURED_OUTPUT and call.state is CallState.DONE)


class ReminderName(StrEnum):
    """The name of a file in prompts/reminders/."""

    CONTINUE = "continue"
    TODOS = "todos"
    TASKS = "tasks"
    CUT = "cut"
    DATE = "date"
    SUBTASK_DONE = "subtask_done"
    GOING_ROUND = "going_round"
    UNSEEN = "unseen"
    LAST_STEP = "last_step"
    STRUCTURED_OUTPUT = "structured_output"
    LAST_STEP_STRUCTURED_OUTPUT = "last_step_structured_output"
    TWO_LEFT = "two_left"
    STOPPED = "stopped"
    SCHEDULED = "scheduled"
    PLAN_MODE = "plan_mode"
    PLAN_LEFT = "plan_left"


class Reminder(Value):
    """What Holdfast tells a model besides prompts and results, in the words that were sent."""

    name: ReminderName
    text: str


class StepReminders(Value):
    """The reminders of a step's first request; `id`: its generation's."""

    id: GenerationId
    turn: TurnId
    step: int
    reminders: tuple[Reminder, ...]

    @property
    def text(self) -> str:
        return "\n\n".join(reminder.text for reminder in self.reminders)


class PersonWords(Value):
    """What a person has typed, perhaps shortened, for the turn of this `number` or at a later `step` of it."""

    number: int
    step: int = 1
    text: str


class ContextSummary(Value):
    """Stands for a conversation's beginning, up to and including the answer of a turn's step; `id`: its generation's.

    `newest`: the newest answer when it was made, whose tokens are of the context before. `words`: what of the prompts
    stays beside the notes, its `text`.
    """

    id: GenerationId
    turn: TurnId
    step: int
    newest: MessageId
    text: str
    words: tuple[PersonWords, ...] = ()


Message: TypeAlias = Annotated[UserMessage | AssistantMessage, Field(discriminator="role")]
Entry: TypeAlias = Message | StepReminders | ContextSummary
Transcript: TypeAlias = tuple[Entry, ...]
