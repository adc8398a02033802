"""The view: a transcript as the messages that a model is sent (opencode.md 5.5)."""

from collections.abc import Iterator
from typing import Final

from activities.model import port
from activities.store.database import dumps
from prompts import load
from workflows.domain.messages import (
    AssistantMessage,
    ReasoningPart,
    TextPart,
    ToolPart,
    Transcript,
    UserMessage,
)

INTERRUPTED: Final = "[Tool execution was interrupted]"


def view(system: str, transcript: Transcript, model: str, *, text_only: bool = False) -> tuple[port.Message, ...]:
    """System prompt, then the conversation; with `text_only` a closing word that no tools are left.

    What only the provider of an answer understands is left out where another `model` is asked now.
    """
    messages: list[port.Message] = [port.SystemMessage(content=system)]
    newest_answer = max((place for place, each in enumerate(transcript) if each.role == "assistant"), default=-1)
    for place, message in enumerate(transcript):
        if isinstance(message, UserMessage):
            messages.append(port.UserMessage(content=_said(message, unseen=place > newest_answer)))
        else:
            messages.extend(_answer(message, own=message.body.model == model))
    if text_only:
        messages.append(port.UserMessage(content=load("reminders/last_step")))
    return tuple(messages)


def _said(message: UserMessage, *, unseen: bool) -> str:
    """A prompt that came while its turn ran is wrapped in a reminder until it has been answered."""
    if message.steered and unseen:
        return load("reminders/steered", text=message.text)
    return message.text


def _answer(message: AssistantMessage, *, own: bool) -> Iterator[port.Message]:
    text = "\n".join(part.text for part in message.parts if isinstance(part, TextPart) and part.text)
    thoughts = [part for part in message.parts if isinstance(part, ReasoningPart)]
    calls = [part for part in message.parts if isinstance(part, ToolPart)]
    if not text and not calls:
        return
    yield port.AssistantMessage(
        content=text or None,
        reasoning="\n".join(thought.text for thought in thoughts if thought.text) or None,
        details=tuple(block for thought in thoughts for block in thought.details) if own else (),
        calls=tuple(
            port.RequestedCall(id=call.provider_id, name=call.tool, arguments=dumps(call.arguments)) for call in calls
        ),
    )
    for call in calls:
        yield port.ToolMessage(call=call.provider_id, content=_result(call))


def _result(call: ToolPart) -> str:
    return call.outcome.output if call.outcome is not None else INTERRUPTED
