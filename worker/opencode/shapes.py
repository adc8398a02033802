"""OpenCode's objects, as far as we have them (protocol.md 4)."""

import re
from datetime import datetime
from decimal import Decimal
from typing import Literal, TypeAlias

from pydantic import ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

from workflows.domain import usage
from workflows.domain.events.generations import MessageCompleted
from workflows.domain.ids import MessageId, PartId, SessionId
from workflows.domain.messages import (
    AnswerMetadata,
    CallState,
    Outcome,
    PromptPart,
    ReasoningPart,
    SubtaskPart,
    TextPart,
)
from workflows.domain.output_format import OutputFormat
from workflows.domain.value import Value


def _alias(name: str) -> str:
    return re.sub("Id$", "ID", to_camel(name))


class Shape(Value):
    """OpenCode's field names; `dump` omits what we lack."""

    model_config = ConfigDict(alias_generator=_alias, validate_by_name=True, serialize_by_alias=True)

    def dump(self) -> dict[str, JsonValue]:
        return self.model_dump(mode="json", exclude_none=True)


class SpanShape(Shape):
    """A span in milliseconds since 1970. `compacted`: when a result was cleared from the context."""

    start: int
    end: int | None = None
    compacted: int | None = None


class TimesShape(Shape):
    created: int
    updated: int | None = None
    completed: int | None = None
    compacting: int | None = None
    archived: int | None = None


class CacheShape(Shape):
    read: int
    write: int


class TokensShape(Shape):
    total: int | None = None
    input: int
    output: int
    reasoning: int
    cache: CacheShape


class ModelShape(Shape):
    provider_id: str
    model_id: str
    variant: str | None = None


class SessionModelShape(Shape):
    """A session's model: unlike a message's, its name is just `id`."""

    id: str
    provider_id: str
    variant: str | None = None


class PendingCallShape(Shape):
    status: Literal["pending"] = "pending"
    input: dict[str, JsonValue]
    raw: str = ""


class RunningCallShape(Shape):
    """`title` and `metadata` of a task: they name its subagent's session."""

    status: Literal["running"] = "running"
    input: dict[str, JsonValue]
    title: str | None = None
    metadata: dict[str, JsonValue] | None = None
    time: SpanShape


class CompletedCallShape(Shape):
    status: Literal["completed"] = "completed"
    input: dict[str, JsonValue]
    output: str
    title: str
    metadata: dict[str, JsonValue]
    time: SpanShape


class FailedCallShape(Shape):
    status: Literal["error"] = "error"
    input: dict[str, JsonValue]
    error: str
    metadata: dict[str, JsonValue]
    time: SpanShape


CallStateShape: TypeAlias = PendingCallShape | RunningCallShape | CompletedCallShape | FailedCallShape


class PartShape(Shape):
    id: PartId
    session_id: SessionId
    message_id: MessageId
    type: str


class PromptPartShape(PartShape):
    """A part of a prompt; its other fields are OpenCode's."""

    model_config = ConfigDict(extra="allow")


class TextShape(PartShape):
    """A text of an answer, or its reasoning."""

    text: str
    time: SpanShape
    metadata: dict[str, JsonValue] | None = None


class ToolShape(PartShape):
    type: str = "tool"
    call_id: str
    tool: str
    state: CallStateShape


class StepFinishShape(PartShape):
    type: str = "step-finish"
    reason: str
    cost: float
    tokens: TokensShape


class ApiErrorDataShape(Shape):
    message: str
    status_code: int | None = None
    is_retryable: bool = True


class ApiErrorShape(Shape):
    name: str = "APIError"
    data: ApiErrorDataShape


class RetryShape(PartShape):
    """An attempt at the answer that a provider has failed."""

    type: str = "retry"
    attempt: int
    error: ApiErrorShape
    time: TimesShape


class OutputFormatShape(Shape):
    type: str
    schema_: dict[str, JsonValue] = Field(alias="schema")
    retry_count: int


class ErrorShape(Shape):
    name: str = "UnknownError"
    data: dict[str, JsonValue]


def milliseconds(at: datetime) -> int:
    """Milliseconds since 1970."""
    return int(at.timestamp() * 1000)


def step_start_shape(session: SessionId, message: MessageId) -> PartShape:
    return PartShape(id=PartId(f"prt_{message[4:]}"), session_id=session, message_id=message, type="step-start")


def text_shape(
    session: SessionId, message: MessageId, id: PartId, part: TextPart | ReasoningPart, at: int
) -> TextShape:
    """It has no duration: it is stored with its answer."""
    shape = TextShape(
        id=id,
        session_id=session,
        message_id=message,
        type=part.type,
        text=part.text,
        time=SpanShape(start=at, end=at),
    )
    phase = part.phase if isinstance(part, TextPart) else None
    return shape.model_copy(update={"metadata": {"openai": {"phase": phase}}}) if phase else shape


def retry_shape(
    session: SessionId, message: MessageId, place: int, attempt: int, kind: str, text: str, at: int
) -> RetryShape:
    """It has no row: its id is after the step's start, at its `place`. `kind`: an HTTP status, or another word."""
    status = int(kind) if kind.isdecimal() else None
    return RetryShape(
        id=_id_behind(PartId(f"prt_{message[4:]}"), place),
        session_id=session,
        message_id=message,
        attempt=attempt,
        error=ApiErrorShape(data=ApiErrorDataShape(message=text, status_code=status)),
        time=TimesShape(created=at),
    )


def step_finish_shape(
    session: SessionId, message: MessageId, answer: AnswerMetadata | MessageCompleted, last: PartId
) -> StepFinishShape:
    """`last`: the part before it."""
    return StepFinishShape(
        id=_id_behind(last),
        session_id=session,
        message_id=message,
        reason=answer.finish,
        cost=cost_number(answer.cost),
        tokens=tokens_shape(answer.tokens),
    )


def _id_behind(part: PartId, distance: int = 1) -> PartId:
    """An id that sorts behind another one; stable, because its part has no row."""
    return PartId(f"prt_{int(part[4:16], 16) + distance:012x}{part[16:]}")


def tokens_shape(usage_tokens: usage.Tokens) -> TokensShape:
    cache = CacheShape(read=usage_tokens.cache_read, write=usage_tokens.cache_write)
    return TokensShape(
        total=usage_tokens.total,
        input=usage_tokens.input,
        output=usage_tokens.output,
        reasoning=usage_tokens.reasoning,
        cache=cache,
    )


def add_tokens(before: TokensShape, more: usage.Tokens) -> TokensShape:
    """Without the total, which a session has not."""
    new, cache = tokens_shape(more), before.cache
    return TokensShape(
        input=before.input + new.input,
        output=before.output + new.output,
        reasoning=before.reasoning + new.reasoning,
        cache=CacheShape(read=cache.read + new.cache.read, write=cache.write + new.cache.write),
    )


def cost_number(amount: str | Decimal | None) -> float:
    """US dollars; like OpenCode, 0 if unknown."""
    return float(amount or 0)


def model_shape(model: str, variant: str | None = None) -> ModelShape:
    """Splits "provider/model"."""
    provider, _, name = model.partition("/")
    return ModelShape(provider_id=provider, model_id=name, variant=variant)


def session_model_shape(model: str, variant: str | None) -> SessionModelShape:
    named = model_shape(model)
    return SessionModelShape(id=named.model_id, provider_id=named.provider_id, variant=variant)


def output_format_shape(output_format: OutputFormat) -> OutputFormatShape:
    schema, again = output_format.json_schema, output_format.corrections
    return OutputFormatShape(type=output_format.type, schema_=schema, retry_count=again)


def prompt_part_id(message: MessageId, position: int) -> PartId:
    return PartId(f"prt_{message[4:-5]}{position:05x}")


def prompt_part_shape(
    session: SessionId, message: MessageId, position: int, part: PromptPart, *, synthetic: bool = False
) -> PartShape:
    """A prompt's part has no row: its id comes from the message's and its position. `synthetic`: no person wrote it."""
    fields = part.model_dump(exclude_none=True, exclude={"note"}) | ({"synthetic": True} if synthetic else {})
    if isinstance(part, SubtaskPart) and part.model:
        fields["model"] = model_shape(part.model).dump()
    id = prompt_part_id(message, position)
    return PromptPartShape(id=id, session_id=session, message_id=message, **fields)


def running_task_shape(
    arguments: dict[str, JsonValue], parent: SessionId, child: SessionId, model: str | None, time: SpanShape
) -> RunningCallShape:
    """Clients follow the subagent's session to show its calls."""
    metadata: dict[str, JsonValue] = {"parentSessionId": parent, "sessionId": child}
    metadata |= {"model": model_shape(model).dump()} if model is not None else {}
    return RunningCallShape(input=arguments, title=str(arguments.get("description", "")), metadata=metadata, time=time)


def call_state_shape(
    state: CallState, arguments: dict[str, JsonValue], outcome: Outcome | None, time: SpanShape
) -> CallStateShape:
    """Anything unsuccessful is an error, but not a stopped command: OpenCode has its output as that of an ended one."""
    if outcome is None and state is CallState.CLAIMED:
        return RunningCallShape(input=arguments, time=time)
    if outcome is None:
        return PendingCallShape(input=arguments)
    stopped_command = state is CallState.CANCELLED and "exit" in outcome.metadata
    if state is CallState.DONE or stopped_command:
        return CompletedCallShape(
            input=arguments, output=outcome.output, title=outcome.title, metadata=outcome.metadata, time=time
        )
    return FailedCallShape(input=arguments, error=outcome.output, metadata=outcome.metadata, time=time)
