"""A session's transcript, asked of a wire as its steps ask."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any, Final

from activities.model.bound_thoughts import join_entries
from activities.model.input_messages import convert_entries
from activities.model.port import ModelFacts, ModelPort
from activities.model.step_request import tool_choice
from activities.model.stream import Answer
from tests.providers.behaviours.wire_under_test import WireUnderTest
from tests.providers.double_requests import collect_answer, last_step_reminder
from workflows.domain.ids import MessageId, PartId, TurnId
from workflows.domain.messages import (
    AnswerMetadata,
    AssistantMessage,
    CallState,
    Message,
    Outcome,
    Part,
    RequestedCall,
    StepReminders,
    TextPart,
    ToolPart,
    UserMessage,
)

SYSTEM: Final = "Be brief."
FACTS: Final = ModelFacts(images=True, documents=True)
_NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
_numbers = count(1)


@dataclass
class Conversation:
    """Its messages are those that a session would send."""

    port: ModelPort
    wire: WireUnderTest
    transcript: list[Message | StepReminders] = field(default_factory=list)

    @property
    def turn(self) -> TurnId:
        """The newest: a prompt at its first step begins it."""
        begun = sum(isinstance(entry, UserMessage) and not entry.steered for entry in self.transcript)
        return TurnId(f"trn_{begun}")

    def prompt(self, text: str = "go", step: int = 1) -> None:
        prompt = UserMessage(id=_message(), turn=self.turn, step=step, parts=(TextPart(text=text),), at=_NOW)
        self.transcript.append(prompt)

    async def ask(self, *, last_step: bool = False, again: bool = False, **more: Any) -> Answer:
        """The next answer, which the transcript then has; `more`: members of `ModelRequest`."""
        if last_step:
            self.transcript.append(last_step_reminder())
            more["tool_choice"] = tool_choice(self.wire.model, text_only=True, again=again)
        messages = join_entries(SYSTEM, convert_entries(tuple(self.transcript), self.wire.model, FACTS))
        answer = await collect_answer(self.port, self.wire.request(messages, **more))
        body = AnswerMetadata(finish=answer.finish, agent="a", model=self.wire.model, tokens=answer.tokens, cost=None)
        parts = tuple(map(_stored, answer.parts))
        self.transcript.append(AssistantMessage(id=_message(), turn=self.turn, step=1, body=body, at=_NOW, parts=parts))
        return answer

    def settle(self, outcome: Outcome) -> None:
        """Give the newest answer's calls this outcome."""
        newest = self.transcript[-1]
        assert isinstance(newest, AssistantMessage)
        settled = {"outcome": outcome, "state": CallState.FAILED if outcome.error else CallState.DONE}
        parts = [part.model_copy(update=settled) if isinstance(part, ToolPart) else part for part in newest.parts]
        self.transcript[-1] = newest.model_copy(update={"parts": tuple(parts)})

    @property
    def sent(self) -> str:
        """The newest request, as text."""
        return json.dumps(self.wire.double.asked[-1], ensure_ascii=False)


def _message() -> MessageId:
    return MessageId(f"msg_{next(_numbers)}")


def _stored(part: Any) -> Part:
    if not isinstance(part, RequestedCall):
        stored: Part = part
        return stored
    try:
        arguments = json.loads(part.arguments or "{}")
    except ValueError:
        arguments = {"tool": part.name, "error": "no JSON"}
    id = PartId(f"prt_{next(_numbers)}")
    return ToolPart(id=id, provider_id=part.id, tool=part.name, arguments=arguments, state=CallState.PREPARED)
