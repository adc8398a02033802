"""A conversation with a double, by the view that the product makes of its transcript."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import JsonValue, SecretStr

from activities.model.input_messages import to_input_messages
from activities.model.port import Endpoint, ModelFacts, ModelPort, ModelRequest, Wire
from activities.model.stream import Answer
from tests.providers.double_requests import READ, collect_answer
from workflows.domain.ids import MessageId, PartId, TurnId
from workflows.domain.messages import (
    AnswerMetadata,
    AssistantMessage,
    CallState,
    Message,
    Outcome,
    Part,
    RequestedCall,
    TextPart,
    ToolPart,
    UserMessage,
)
from workflows.domain.usage import Tokens

_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
_TURN: Final = TurnId("trn_1")
_FACTS: Final = ModelFacts(images=True, documents=True)
PNG: Final = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
PDF: Final = "data:application/pdf;base64,JVBERi0xLjQKJSVFT0YK"


def prompt(text: str = "go", *, steered: bool = False) -> UserMessage:
    return UserMessage(
        id=MessageId("msg_u"), turn=_TURN, step=2 if steered else 1, parts=(TextPart(text=text),), at=_NOW
    )


def answered(parts: Sequence[Part], model: str) -> AssistantMessage:
    body = AnswerMetadata(finish="stop", agent="build", model=model, tokens=Tokens(), cost=None)
    return AssistantMessage(id=MessageId("msg_a"), turn=_TURN, step=1, body=body, at=_NOW, parts=tuple(parts))


def tool_part(call: RequestedCall, outcome: Outcome | None = None) -> ToolPart:
    """A stored call; without `outcome`, the turn was stopped before."""
    state = CallState.DONE if outcome else CallState.CANCELLED
    arguments = json.loads(call.arguments or "{}")
    return ToolPart(
        id=PartId("prt_1"), provider_id=call.id, tool=call.name, arguments=arguments, state=state, outcome=outcome
    )


@dataclass
class Conversation:
    """Asks `model` (litellm's name), and keeps its answers; a call of theirs has `outcome`."""

    port: ModelPort
    model: str
    url: str
    key: str | None = None
    options: Mapping[str, JsonValue] = field(default_factory=dict)
    outcome: Outcome | None = field(default_factory=lambda: Outcome(output="A file."))
    transcript: list[Message] = field(default_factory=lambda: [prompt()])

    def request(self, *, text_only: bool = False) -> ModelRequest:
        endpoint = Endpoint(
            model=self.model, base_url=self.url, key=SecretStr(self.key) if self.key else None, wire=Wire.LITELLM
        )
        messages = to_input_messages("Be brief.", tuple(self.transcript), self.model, _FACTS, text_only=text_only)
        return ModelRequest(
            endpoint=endpoint,
            messages=messages,
            tools=(READ,),
            tool_choice="none" if text_only else None,
            options=self.options,
        )

    async def ask(self, *, text_only: bool = False) -> Answer:
        answer = await collect_answer(self.port, self.request(text_only=text_only))
        parts = [tool_part(part, self.outcome) if isinstance(part, RequestedCall) else part for part in answer.parts]
        self.transcript.append(answered(parts, self.model))
        return answer

    def say(self, text: str, *, steered: bool = False) -> None:
        self.transcript.append(prompt(text, steered=steered))


def attached(mime: str, url: str) -> Outcome:
    """A result with a picture or a document."""
    attachment: dict[str, Any] = {"mime": mime, "url": url}
    return Outcome(output="It is attached.", attachments=(attachment,))
