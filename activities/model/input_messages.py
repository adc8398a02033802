"""The view: a transcript as a model's messages (opencode.md 5.5)."""

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from activities.model import media, port
from activities.model.identity_cache import IdentityCache
from activities.store.database import dumps
from prompts import render_prompt
from workflows.domain.messages import (
    AssistantMessage,
    ReasoningPart,
    RequestedCall,
    TextPart,
    ToolPart,
    Transcript,
    UserMessage,
)

_TEXT_ONLY: Final = port.ModelFacts()
INTERRUPTED: Final = "[Tool execution was interrupted]"

AnswerCache: TypeAlias = IdentityCache[AssistantMessage, tuple[port.InputMessage, ...]]


def to_input_messages(
    system: str,
    transcript: Transcript,
    model: str,
    facts: port.ModelFacts = _TEXT_ONLY,
    *,
    text_only: bool = False,
    answer_cache: AnswerCache | None = None,
) -> tuple[port.InputMessage, ...]:
    """System prompt, then the conversation; with `text_only` a last message that no tools are left.

    Leaves out what only another model's provider understands; replaces what the model cannot see by its `facts` with a
    word. `answer_cache`: messages of earlier views.
    """
    answer_cache = IdentityCache() if answer_cache is None else answer_cache
    messages: list[port.InputMessage] = [port.SystemInput(content=system)]
    positions = range(len(transcript))
    newest_answer = next((position for position in reversed(positions) if transcript[position].role == "assistant"), -1)
    kind = model, facts.images, facts.documents

    def convert(answer: AssistantMessage) -> tuple[port.InputMessage, ...]:
        return tuple(_messages_of(answer, model, facts))

    for position, message in enumerate(transcript):
        if isinstance(message, UserMessage):
            messages.append(port.UserInput(content=_user_text(message, unseen=position > newest_answer)))
        else:
            messages += answer_cache.get(message, kind, convert)
    if text_only:
        messages.append(port.UserInput(content=render_prompt("reminders/last_step")))
    return tuple(messages)


def _user_text(message: UserMessage, *, unseen: bool) -> str:
    """Wraps a prompt that came during its turn in a reminder until it is answered."""
    if message.steered and unseen:
        return render_prompt("reminders/steered", text=message.text)
    return message.text


def _messages_of(message: AssistantMessage, model: str, facts: port.ModelFacts) -> Iterator[port.InputMessage]:
    parts = tuple(_answer_parts(message, own=message.body.model == model))
    if all(isinstance(part, ReasoningPart) for part in parts):
        return
    yield port.AssistantInput(parts=parts)
    yield from _results([part for part in message.parts if isinstance(part, ToolPart)], facts)


def _answer_parts(message: AssistantMessage, *, own: bool) -> Iterator[port.AnswerPart]:
    """In order, without blank texts; another model's thinking is plain text to this one."""
    for part in message.parts:
        match part:
            case ToolPart():
                yield RequestedCall(id=part.provider_id, name=part.tool, arguments=dumps(part.arguments))
            case ReasoningPart() if own:
                yield part
            case TextPart(text=text) | ReasoningPart(text=text) if text.strip():
                yield TextPart(text=text)


def _results(calls: Iterable[ToolPart], facts: port.ModelFacts) -> Iterator[port.InputMessage]:
    """Pictures and documents follow as a message of their own, which every provider takes."""
    attached: list[port.Piece] = []
    for call in calls:
        pieces, reasons = media.select_attachments(call, facts)
        attached += pieces
        missing = [render_prompt("tools/not_attached", reason=reason) for reason in reasons]
        output = call.outcome.output if call.outcome is not None else INTERRUPTED
        yield port.ToolResultInput(call=call.provider_id, content="\n\n".join((output, *missing)))
    if attached:
        yield port.UserInput(content=(port.TextPiece(text=render_prompt("tools/attached")), *attached))
