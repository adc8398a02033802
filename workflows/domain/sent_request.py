"""What a model was sent, built again from the records: for people."""

from datetime import datetime

from pydantic import JsonValue

from workflows.domain.generation import Purpose
from workflows.domain.ids import GenerationId, SessionId
from workflows.domain.value import Value


class RequestChoice(Value):
    """Which request of a session is meant: the newest for a purpose, a step of a turn (None: the newest), or that of
    a generation."""

    purpose: Purpose | None = Purpose.STEP
    turn: int | None = None
    step: int | None = None
    generation: GenerationId | None = None


class SentLayer(Value):
    """A part of the instructions. `tokens` here and below: by estimate."""

    name: str
    text: str
    tokens: int


class SentEntry(Value):
    """What one entry of the conversation became: `messages` as the model got them, in no provider's form. `number`: of
    its turn; None: a summary's, or not a step's."""

    name: str
    number: int | None = None
    step: int | None = None
    messages: tuple[dict[str, JsonValue], ...]
    tokens: int


class SentTool(Value):
    name: str
    description: str
    parameters: dict[str, JsonValue]
    tokens: int


class LeftOut(Value):
    """What is stored and was not sent, and why."""

    what: str
    why: str


class SentRequest(Value):
    """`digest`: kept as the newest attempt began; `rebuilt`: that of what is shown here. `same`: whether each earlier
    attempt asked with the same. `counted`: tokens, by the provider; None: there is no answer."""

    session: SessionId
    generation: GenerationId
    purpose: Purpose
    number: int | None = None
    step: int | None = None
    at: datetime
    model: str
    release: str
    digest: str
    rebuilt: str
    attempts: int = 1
    same: bool = True
    answered: bool
    layers: tuple[SentLayer, ...]
    conversation: tuple[SentEntry, ...]
    tools: tuple[SentTool, ...] = ()
    choice: str | None = None
    left_out: tuple[LeftOut, ...] = ()
    tokens: int
    counted: int | None = None

    @property
    def as_sent(self) -> bool:
        return self.digest == self.rebuilt
