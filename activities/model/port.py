"""The port to model providers: requests, and the events of answers."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Literal, Protocol, TypeAlias

from pydantic import Field, JsonValue

from activities.model.encoded_messages import MessageEncoder
from activities.model.endpoint import Endpoint
from workflows.domain.messages import ReasoningPart, RequestedCall, TextPart
from workflows.domain.tool_offer import ToolOffer
from workflows.domain.usage import STANDARD_TERMS, Price, Terms, Tokens
from workflows.domain.value import Value


def split_data_url(url: str) -> tuple[str, str]:
    """The type and the base64 of a `data:` URL."""
    head, _, content = url.partition(",")
    return head.removeprefix("data:").partition(";")[0], content


class TextPiece(Value):
    """Text in a message with more than text."""

    type: Literal["text"] = "text"
    text: str


class ImagePiece(Value):
    """A picture, as a `data:` URL."""

    type: Literal["image"] = "image"
    url: str

    @property
    def content(self) -> tuple[str, str]:
        return split_data_url(self.url)


class FilePiece(Value):
    """A document, as a `data:` URL. No other one in a session has its `name`: Bedrock would refuse both."""

    type: Literal["file"] = "file"
    name: str
    url: str

    @property
    def content(self) -> tuple[str, str]:
        return split_data_url(self.url)


Piece = Annotated[TextPiece | ImagePiece | FilePiece, Field(discriminator="type")]


class SystemInput(Value):
    role: Literal["system"] = "system"
    content: str


class UserInput(Value):
    role: Literal["user"] = "user"
    content: str | tuple[Piece, ...]


AnswerPart: TypeAlias = TextPart | ReasoningPart | RequestedCall


class AssistantInput(Value):
    """An earlier answer, its parts in order.

    Reasoning is the asked model's own. What its provider wants back, such as a signature, is in the details of the
    reasoning before a call or after a text.
    """

    role: Literal["assistant"] = "assistant"
    parts: tuple[AnswerPart, ...] = ()

    @property
    def text(self) -> str:
        """Its texts as one, as some protocols want them."""
        return "\n".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def thoughts(self) -> tuple[ReasoningPart, ...]:
        return tuple(part for part in self.parts if isinstance(part, ReasoningPart))

    @property
    def details(self) -> tuple[dict[str, JsonValue], ...]:
        return tuple(block for thought in self.thoughts for block in thought.details)

    @property
    def calls(self) -> tuple[RequestedCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, RequestedCall))


class ToolResultInput(Value):
    """The result of one call."""

    role: Literal["tool"] = "tool"
    call: str
    content: str
    failed: bool = False


InputMessage = Annotated[SystemInput | UserInput | AssistantInput | ToolResultInput, Field(discriminator="role")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One question to a model. No pydantic model, which would validate a thousand messages again.

    `options` go to the provider unchanged (`reasoning_effort`, `top_p`, …). `format`: the schema of a text without
    calls. `context`: the model's limit in tokens (0: unknown). `cache_key`: the same in requests with a common prefix.
    `session`: whose request it is; `parent`: the session that has started that one for a subagent. `encoder`: one for
    all requests of a conversation, which saves encoding its beginning again.
    """

    endpoint: Endpoint
    messages: tuple[InputMessage, ...]
    tools: tuple[ToolOffer, ...] = ()
    tool_choice: Literal["auto", "none", "required"] | None = None
    temperature: float | None = None
    max_output: int | None = None
    context: int = 0
    options: Mapping[str, JsonValue] = field(default_factory=dict)
    format: Mapping[str, JsonValue] | None = None
    cache_key: str | None = None
    session: str | None = None
    parent: str | None = None
    encoder: MessageEncoder = field(default_factory=MessageEncoder)

    @property
    def system(self) -> str:
        """The instructions, with which a conversation begins."""
        texts: list[str] = []
        for message in self.messages:
            if not isinstance(message, SystemInput):
                break
            texts.append(message.content)
        return "\n".join(texts)


class Finish(StrEnum):
    """Why an answer ended, in OpenCode's words."""

    STOP = "stop"
    TOOL_CALLS = "tool-calls"
    LENGTH = "length"
    CONTENT_FILTER = "content-filter"
    PAUSE = "pause-turn"  # a word of ours: the answer goes back to the provider, and the model goes on
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class RequestAccepted:
    """The provider has taken the request; the first piece of its answer may be minutes away."""


@dataclass(slots=True)  # not frozen, as the next two: an answer has thousands, and a frozen one takes twice as long
class TextDelta:
    """`item`: a text of another one is a message of its own. `phase` as in `TextPart`."""

    text: str
    item: int = 0
    phase: str | None = None


@dataclass(slots=True)
class ReasoningDelta:
    """Thinking that the provider shows; `details`: a (signed) block of its own, to be returned unchanged, in place."""

    text: str
    details: dict[str, JsonValue] | None = None


@dataclass(slots=True)
class ToolCallDelta:
    """A piece of a call: `id` and `name` come with the first one, `arguments` piecemeal."""

    index: int
    id: str | None
    name: str | None
    arguments: str


@dataclass(frozen=True, slots=True)
class Finished:
    """A complete answer's last event; `reported_cost`: US dollars, by the provider. `explanation`: its words for an end
    that is none of an answer."""

    finish: Finish
    tokens: Tokens
    reported_cost: Decimal | None = None
    explanation: str = ""
    terms: Terms = STANDARD_TERMS


PartDelta: TypeAlias = TextDelta | ReasoningDelta | ToolCallDelta
ModelEvent: TypeAlias = RequestAccepted | PartDelta | Finished


class ModelFacts(Value):
    """A model's price (None: unknown), its limits in tokens (0: unknown), what it sees, and whether it can think.

    `efforts`: how much it thinks on request; None: as others of its family. `sampled`: it takes a temperature.
    `responses`: only OpenAI's Responses protocol reaches it. `guessed`: no table has the model; these are the facts of
    another one of its family, if there is one.
    """

    price: Price | None = None
    context: int = 0
    max_input: int = 0
    max_output: int = 0
    images: bool = False
    documents: bool = False
    reasoning: bool = False
    efforts: tuple[str, ...] | None = None
    sampled: bool = True
    responses: bool = False
    guessed: bool = False


class ModelPort(Protocol):
    """Asks models."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """The answer's events, from `RequestAccepted` to `Finished`: those of each read together, as an answer has
        thousands. Closing the generator aborts the request.

        Raises `ModelError` when the provider fails, and `UsageError` for a model that cannot be asked at all.
        """
        ...

    async def facts(self, model: str) -> ModelFacts:
        """A model's facts, by its name in `Endpoint.model`; for an unknown one no price and no limits."""
        ...

    async def aws_region(self, profile: str | None) -> str:
        """The region that AWS's files have for a profile (None: as AWS finds it)."""
        ...
