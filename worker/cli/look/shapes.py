"""OpenCode's objects, as far as a session of ours has them (protocol.md 4)."""

import re
from decimal import Decimal
from typing import Literal

from pydantic import ConfigDict, JsonValue
from pydantic.alias_generators import to_camel

from workflows.domain import usage
from workflows.domain.events import MessageCompleted
from workflows.domain.ids import MessageId, PartId, SessionId
from workflows.domain.messages import AnswerBody, CallState, Outcome
from workflows.domain.value import Value


def _alias(name: str) -> str:
    return re.sub("Id$", "ID", to_camel(name))


class Shape(Value):
    """An object with OpenCode's names for its fields; `dump` leaves out what we do not have."""

    model_config = ConfigDict(alias_generator=_alias, validate_by_name=True, serialize_by_alias=True)

    def dump(self) -> dict[str, JsonValue]:
        return self.model_dump(mode="json", exclude_none=True)


class Span(Shape):
    """From when to when, in milliseconds since 1970."""

    start: int
    end: int | None = None


class Created(Shape):
    created: int
    updated: int | None = None
    completed: int | None = None


class Cache(Shape):
    read: int
    write: int


class Tokens(Shape):
    total: int | None = None
    input: int
    output: int
    reasoning: int
    cache: Cache


class ModelName(Shape):
    provider_id: str
    model_id: str


class Pending(Shape):
    status: Literal["pending"] = "pending"
    input: dict[str, JsonValue]
    raw: str = ""


class Running(Shape):
    status: Literal["running"] = "running"
    input: dict[str, JsonValue]
    time: Span


class Completed(Shape):
    status: Literal["completed"] = "completed"
    input: dict[str, JsonValue]
    output: str
    title: str
    metadata: dict[str, JsonValue]
    time: Span


class Failed(Shape):
    status: Literal["error"] = "error"
    input: dict[str, JsonValue]
    error: str
    metadata: dict[str, JsonValue]
    time: Span


class Part(Shape):
    """What all parts have."""

    id: PartId
    session_id: SessionId
    message_id: MessageId
    type: str


class Text(Part):
    type: str = "text"
    text: str
    time: Span | None = None


class Reasoning(Part):
    type: str = "reasoning"
    text: str
    time: Span


class Tool(Part):
    type: str = "tool"
    call_id: str
    tool: str
    state: Pending | Running | Completed | Failed


class StepStart(Part):
    type: str = "step-start"


class StepFinish(Part):
    type: str = "step-finish"
    reason: str
    cost: float
    tokens: Tokens


class Problem(Shape):
    message: str


class Error(Shape):
    name: str = "UnknownError"
    data: Problem


def step_start(session: SessionId, message: MessageId) -> StepStart:
    """The part that opens an answer."""
    return StepStart(id=_marker(message, "0"), session_id=session, message_id=message)


def step_finish(session: SessionId, message: MessageId, answer: AnswerBody | MessageCompleted) -> StepFinish:
    """The part that closes an answer, with why it ended and what it cost."""
    return StepFinish(
        id=_marker(message, "z"),
        session_id=session,
        message_id=message,
        reason=answer.finish,
        cost=cost(answer.cost),
        tokens=tokens(answer.tokens),
    )


def _marker(message: MessageId, last: str) -> PartId:
    """An id for a part that only this form has: beside its message, and the same each time."""
    return PartId(f"prt_{message[4:-1]}{last}")


def tokens(counted: usage.Tokens) -> Tokens:
    """Tokens as OpenCode writes them."""
    cache = Cache(read=counted.cache_read, write=counted.cache_write)
    return Tokens(
        total=counted.total, input=counted.input, output=counted.output, reasoning=counted.reasoning, cache=cache
    )


def cost(amount: str | Decimal | None) -> float:
    """US dollars as the number that OpenCode's clients expect: 0 where it is not known, as OpenCode has it."""
    return float(amount or 0)


def model_name(model: str) -> ModelName:
    """ "provider/model" in its two halves."""
    provider, _, name = model.partition("/")
    return ModelName(provider_id=provider, model_id=name)


def tool_state(
    state: CallState, arguments: dict[str, JsonValue], outcome: Outcome | None, time: Span
) -> Pending | Running | Completed | Failed:
    """How far a call is; whatever did not succeed is an error."""
    if outcome is None:
        return Running(input=arguments, time=time) if state is CallState.CLAIMED else Pending(input=arguments)
    if state is CallState.DONE:
        return Completed(
            input=arguments, output=outcome.output, title=outcome.title, metadata=outcome.metadata, time=time
        )
    return Failed(input=arguments, error=outcome.output, metadata=outcome.metadata, time=time)
