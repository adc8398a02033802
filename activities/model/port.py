"""The port to model providers: what is asked, and what comes back while the answer is written."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Literal, Protocol, TypeAlias

from pydantic import Field, JsonValue, SecretStr

from workflows.domain.usage import Price, Tokens
from workflows.domain.value import Value


class TextPiece(Value):
    """Text of a message that has more than text."""

    type: Literal["text"] = "text"
    text: str


class ImagePiece(Value):
    """A picture, as a `data:` URL."""

    type: Literal["image"] = "image"
    url: str


class FilePiece(Value):
    """A document, as a `data:` URL."""

    type: Literal["file"] = "file"
    name: str
    url: str


Piece = Annotated[TextPiece | ImagePiece | FilePiece, Field(discriminator="type")]


class SystemMessage(Value):
    role: Literal["system"] = "system"
    content: str


class UserMessage(Value):
    role: Literal["user"] = "user"
    content: str | tuple[Piece, ...]


class RequestedCall(Value):
    """A tool call of an earlier answer; `arguments` is the text that the model wrote."""

    id: str
    name: str
    arguments: str


class AssistantMessage(Value):
    """An earlier answer; `details` are those of its reasoning parts, one after the other."""

    role: Literal["assistant"] = "assistant"
    content: str | None = None
    reasoning: str | None = None
    details: tuple[dict[str, JsonValue], ...] = ()
    calls: tuple[RequestedCall, ...] = ()


class ToolMessage(Value):
    """The result of one call."""

    role: Literal["tool"] = "tool"
    call: str
    content: str


Message = Annotated[SystemMessage | UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")]


class ToolOffer(Value):
    """A tool that the model may call; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: dict[str, JsonValue]


class Wire(StrEnum):
    """The protocol in which a model is asked."""

    CHAT = "chat"  # OpenAI's chat completions, word for word
    RESPONSES = "responses"  # OpenAI's Responses
    ANTHROPIC = "anthropic"  # Anthropic's Messages
    GEMINI = "gemini"  # Google's Gemini
    LITELLM = "litellm"  # whatever litellm speaks with the provider


class Endpoint(Value):
    """Where a model is reached, and how it is asked. `model` is the name that litellm knows it by, provider first.

    `hidden` are further values that are sent, and that no failure may show.
    """

    model: str
    base_url: str | None = None
    key: SecretStr | None = None
    headers: dict[str, str] = {}
    hidden: tuple[SecretStr, ...] = ()
    wire: Wire = Wire.LITELLM

    @property
    def compatible(self) -> bool:
        """Whether this is an endpoint of one's own, which speaks OpenAI's chat protocol."""
        return self.wire is Wire.CHAT

    @property
    def secret(self) -> str | None:
        """The key as it is sent; None without one."""
        return self.key.get_secret_value() if self.key else None

    @property
    def authorization(self) -> dict[str, str]:
        """The key as the header that most providers want it in; none where another such header is configured."""
        configured = any(name.lower() == "authorization" for name in self.headers)
        return {"authorization": f"Bearer {self.secret}"} if self.secret and not configured else {}

    @property
    def name(self) -> str:
        """What the provider calls the model."""
        return self.model.partition("/")[2]

    @property
    def provider(self) -> str:
        """Who answers: litellm's name of the provider; an endpoint of one's own is nobody's."""
        return "compatible" if self.compatible else self.model.partition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One question to a model; no model of pydantic's, which would look at each of a thousand messages once more.

    `options` go to the provider as they stand (`reasoning_effort`, `top_p`, …). Without `tools` none are offered.
    """

    endpoint: Endpoint
    messages: tuple[Message, ...]
    tools: tuple[ToolOffer, ...] = ()
    tool_choice: Literal["auto", "none", "required"] | None = None
    temperature: float | None = None
    max_output: int | None = None
    options: Mapping[str, JsonValue] = field(default_factory=dict)


class Finish(StrEnum):
    """Why an answer ended, in OpenCode's words."""

    STOP = "stop"
    TOOL_CALLS = "tool-calls"
    LENGTH = "length"
    CONTENT_FILTER = "content-filter"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """Thinking that the provider shows; `details` is a block of its own (signed), to be given back unchanged."""

    text: str
    details: dict[str, JsonValue] | None = None


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of a call: `id` and `name` come with its first piece, `arguments` piecemeal."""

    index: int
    id: str | None
    name: str | None
    arguments: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event of an answer that is complete; `charged` is the US dollars that the provider says it took."""

    finish: Finish
    tokens: Tokens
    charged: Decimal | None = None


ModelEvent: TypeAlias = TextDelta | ReasoningDelta | ToolCallDelta | Finished


class ModelFacts(Value):
    """What is known of a model: its price (None: not known), its limits in tokens (0: not known), and what it sees.

    `responses` is true for one that only OpenAI's Responses protocol reaches.
    """

    price: Price | None = None
    context: int = 0
    max_output: int = 0
    images: bool = False
    documents: bool = False
    responses: bool = False


class ModelPort(Protocol):
    """Whoever can ask a model."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """The answer, event by event; the last one is `Finished`. Closing the generator aborts the request.

        Raises `ModelError` when the provider fails, and `UsageError` for a model that cannot be asked at all.
        """
        ...

    async def facts(self, model: str) -> ModelFacts:
        """What is known of a model, by its name in `Endpoint.model`; nothing known → no price and no limits."""
        ...
