"""The pieces of a request, named and counted for people."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, cast

from pydantic import JsonValue

from activities.model.context_split import ATTACHMENT_TOKENS, estimate_text
from activities.model.port import (
    AnswerPart,
    AssistantInput,
    InputMessage,
    ModelRequest,
    TextPiece,
    ToolResultInput,
    UserInput,
)
from activities.model.system_prompt import SystemLayer
from activities.store.database import dumps
from workflows.domain.ids import TurnId
from workflows.domain.messages import (
    AssistantMessage,
    ContextSummary,
    Entry,
    ReasoningPart,
    RequestedCall,
    StepReminders,
    UserMessage,
)
from workflows.domain.sent_request import SentEntry, SentLayer, SentTool

_SUMMARY: Final = "summary of what was before"


def layers_of(layers: Iterable[SystemLayer]) -> tuple[SentLayer, ...]:
    return tuple(SentLayer(name=each.name, text=each.text, tokens=estimate_text(each.text)) for each in layers)


def tools_of(request: ModelRequest) -> tuple[SentTool, ...]:
    return tuple(
        SentTool(**offer.model_dump(), tokens=estimate_text(offer.description + dumps(offer.parameters)))
        for offer in request.tools
    )


def entries_of(
    converted: Iterable[tuple[Entry, tuple[InputMessage, ...]]],
    transcript: Iterable[Entry],
    numbers: Mapping[TurnId, int],
) -> Iterator[SentEntry]:
    """Reminders that have no message of their own name that of the next entry."""
    entries = iter(transcript)
    for entry, messages in converted:
        joined: list[str] = []
        for each in entries:
            if each is entry:
                break
            joined.append(_name_of(each))
        place = {} if isinstance(entry, ContextSummary) else {"number": numbers[entry.turn], "step": entry.step}
        yield sent_entry(" and ".join([*joined, _name_of(entry)]), messages, **place)


def sent_entry(name: str, messages: Iterable[InputMessage], **place: int) -> SentEntry:
    found = tuple(messages)
    dumped = cast("tuple[dict[str, JsonValue], ...]", tuple(each.model_dump(mode="json") for each in found))
    return SentEntry(name=name, messages=dumped, tokens=sum(map(_tokens, found)), **place)


def _name_of(entry: Entry) -> str:
    match entry:
        case UserMessage():
            return "prompt, steered" if entry.steered else "prompt"
        case AssistantMessage():
            return "answer"
        case StepReminders():
            names = ", ".join(each.name.replace("_", " ") for each in entry.reminders)
            return f"reminders ({names})"
        case ContextSummary():
            return _SUMMARY


def _tokens(message: InputMessage) -> int:
    match message:
        case UserInput(content=str(text)) | ToolResultInput(content=text):
            return estimate_text(text)
        case UserInput(content=pieces):
            return sum(
                estimate_text(each.text) if isinstance(each, TextPiece) else ATTACHMENT_TOKENS for each in pieces
            )
        case AssistantInput(parts=parts):
            return sum(map(_part_tokens, parts))
    return 0


def _part_tokens(part: AnswerPart) -> int:
    match part:
        case RequestedCall(name=name, arguments=arguments):
            return estimate_text(name + arguments)
        case ReasoningPart(text=text, details=details) if details:
            return estimate_text(text + dumps(details))
    return estimate_text(part.text)
