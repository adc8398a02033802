"""Messages of a conversation with a double."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from workflows.domain.ids import MessageId, PartId, TurnId
from workflows.domain.messages import (
    AnswerMetadata,
    AssistantMessage,
    CallState,
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
