"""The view: a transcript as the messages that a model is sent (opencode.md 5.5)."""

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from activities.model import media, port
from activities.model.remembered import Remembered
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

_TEXT_ONLY: Final = port.ModelFacts()
INTERRUPTED: Final = "[Tool execution was interrupted]"

Answers: TypeAlias = Remembered[AssistantMessage, tuple[port.Message, ...]]


def view(
    system: str,
    transcript: Transcript,
    model: str,
    facts: port.ModelFacts = _TEXT_ONLY,
    *,
    text_only: bool = False,
    answers: Answers | None = None,
) -> tuple[port.Message, ...]:
    """System prompt, then the conversation; with `text_only` a closing word that no tools are left.

    What only the provider of an answer understands is left out where another `model` is asked now; what the model
    cannot see by its `facts` is replaced by a word. `answers` remembers what the view before has made of the same ones.
    """
    answers = Remembered() if answers is None else answers
    messages: list[port.Message] = [port.SystemMessage(content=system)]
    places = range(len(transcript))
    newest_answer = next((place for place in reversed(places) if transcript[place].role == "assistant"), -1)
    kind = model, facts.images, facts.documents

    def made(answer: AssistantMessage) -> tuple[port.Message, ...]:
        return tuple(_messages_of(answer, model, facts))

    for place, message in enumerate(transcript):
        if isinstance(message, UserMessage):
            messages.append(port.UserMessage(content=_said(message, unseen=place > newest_answer)))
        else:
            messages += answers.get(message, kind, made)
    if text_only:
        messages.append(port.UserMessage(content=load("reminders/last_step")))
    return tuple(messages)


def _said(message: UserMessage, *, unseen: bool) -> str:
    """A prompt that came while its turn ran is wrapped in a reminder until it has been answered."""
    if message.steered and unseen:
        return load("reminders/steered", text=message.text)
    return message.text


def _messages_of(message: AssistantMessage, model: str, facts: port.ModelFacts) -> Iterator[port.Message]:
    own = message.body.model == model
    said = TextPart if own else (TextPart, ReasoningPart)  # what another model has thought is plain text to this one
    text = "\n".join(part.text for part in message.parts if isinstance(part, said) and part.text.strip())
    thoughts = [part for part in message.parts if own and isinstance(part, ReasoningPart)]
    calls = [part for part in message.parts if isinstance(part, ToolPart)]
    if not text and not calls:
        return
    yield port.AssistantMessage(
        content=text or None,
        reasoning="\n".join(thought.text for thought in thoughts if thought.text) or None,
        details=tuple(block for thought in thoughts for block in thought.details),
        calls=tuple(
            port.RequestedCall(id=call.provider_id, name=call.tool, arguments=dumps(call.arguments)) for call in calls
        ),
    )
    yield from _results(calls, facts)


def _results(calls: Iterable[ToolPart], facts: port.ModelFacts) -> Iterator[port.Message]:
    """What the calls gave; pictures and documents follow as a message of their own, which every provider takes."""
    attached: list[port.Piece] = []
    for call in calls:
        pieces, reasons = media.shown(call, facts)
        attached += pieces
        missing = [load("tools/not_attached", reason=reason) for reason in reasons]
        output = call.outcome.output if call.outcome is not None else INTERRUPTED
        yield port.ToolMessage(call=call.provider_id, content="\n\n".join((output, *missing)))
    if attached:
        yield port.UserMessage(content=(port.TextPiece(text=load("tools/attached")), *attached))
