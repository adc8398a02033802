"""A session's messages, as doors export them."""

from datetime import datetime

from pydantic import JsonValue

from workflows.domain.ids import MessageId, PartId, SessionId, TurnId
from workflows.domain.messages import AnswerMetadata, Message, StoredPart
from workflows.domain.value import Value


class CallTimes(Value):
    """When a person was asked about a call first, it was claimed and settled, and its result cleared from the context,
    if they were. `child`: the session of its subagent, and `model` of that one's newest turn."""

    asked: datetime | None = None
    claimed: datetime | None = None
    settled: datetime | None = None
    cleared: datetime | None = None
    child: SessionId | None = None
    model: str | None = None


class MessageDetails(Value):
    """A message, with the number and start of its turn. Of a prompt: agent and model of its turn, the variant that it
    names, and the arguments of the calls that `read` its files, by their places; of an answer: the ids of its texts,
    and when its calls ran.
    """

    message: Message
    number: int
    opened: datetime
    agent: str = ""
    model: str = ""
    variant: str | None = None
    read: dict[int, dict[str, JsonValue]] = {}
    text_parts: tuple[PartId, ...] = ()
    call_times: dict[PartId, CallTimes] = {}


class StepFailure(Value):
    """A provider has failed this `attempt` at a step, with an HTTP status or "network" (`kind`) and a message, and was
    asked again."""

    turn: TurnId
    step: int
    attempt: int
    kind: str
    message: str
    at: datetime


class SummaryPart(Value):
    id: PartId
    body: StoredPart


class SummaryDetails(Value):
    """A compaction's summary of all up to the answer of a step (`last_number`, `last_step`), before the answer of
    another (`number`, `step`), for which a turn's agent and model waited. `media`: whether models still see pictures
    and documents of before; `asked`: by a person; `go_on`: what then told the model to go on, if no prompt did."""

    id: MessageId
    body: AnswerMetadata
    parts: tuple[SummaryPart, ...]
    begun_at: datetime
    at: datetime
    last_number: int = 0
    last_step: int = 0
    number: int = 0
    step: int = 0
    agent: str
    model: str
    media: bool
    asked: bool
    go_on: str | None = None
