"""Our requests in the form of OpenAI's chat completions, in the dialect of their provider."""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Final

from pydantic import JsonValue

from activities.model.chat_dialects import Dialect, dialect_of
from activities.model.port import (
    AnswerPart,
    AssistantInput,
    FilePiece,
    ImagePiece,
    InputMessage,
    ModelRequest,
    Piece,
    SystemInput,
    TextPiece,
    ToolResultInput,
    UserInput,
)
from activities.model.request_json import JsonDict, sendable_id, utf8_safe
from workflows.domain.messages import ReasoningPart, RequestedCall, TextPart
from workflows.domain.tool_offer import ToolOffer

# Reasoning goes back by the name that it came by. Its details say which, unless it is the first of these.
REASONING: Final = ("reasoning_content", "reasoning", "reasoning_text")  # members of an answer
FIELD: Final = "field"  # in a detail: that name, if it is another
CHUNK: Final = "thinking"  # that name for chunks of Mistral's content
THINK_TAG: Final = "<think>"  # and for reasoning before a text, in tags
THINK_END: Final = "</think>"
DETAIL: Final = "reasoning_details"  # in a detail: OpenRouter's, whole
CALL_EXTRA: Final = "extra_content"  # in a detail: what Gemini's endpoint for this protocol wants back with a call

_NO_OUTPUT: Final = "(no output)"  # some refuse a blank result
_CACHE_CONTROL: Final = {"type": "ephemeral"}
_MARKED: Final = 2  # messages besides the instructions: the last one, and the one that was last a request ago
_CLOSING: Final = AssistantInput(parts=(TextPart(text="Done."),))


def build_body(request: ModelRequest) -> JsonDict:
    """The request without destination and unset options."""
    dialect = dialect_of(request.endpoint)
    messages = [build_message(dialect, each) for each in arrange(dialect, request.messages)]
    tools = {"tools": [chat_tool(tool) for tool in request.tools]} if request.tools else {}
    return {**build_parameters(dialect, request), **tools, "messages": messages}


def build_parameters(dialect: Dialect, request: ModelRequest) -> JsonDict:
    """The same without messages and tools."""
    chosen = request.tool_choice if request.tools else None
    parameters = {
        "tool_choice": None if chosen == "none" and not dialect.choice_none else chosen,
        "temperature": request.temperature,
        dialect.output_limit: request.max_output,
        "stream_options": {"include_usage": True} if dialect.stream_options else None,
        "response_format": None if request.format is None else _response_format(request.format),
    }
    return {
        **({"prompt_cache_key": request.cache_key} if request.cache_key else {}),
        **request.options,
        **{name: value for name, value in parameters.items() if value is not None},
    }


def _response_format(schema: Mapping[str, JsonValue]) -> JsonDict:
    return {"type": "json_schema", "json_schema": {"name": "result", "schema": schema, "strict": True}}


def arrange(dialect: Dialect, messages: tuple[InputMessage, ...]) -> Iterable[InputMessage]:
    """The messages, with a word of the model between calls' results and a prompt where one may not follow the other."""
    return closing_results(messages) if dialect.closes_results else messages


def closing_results(messages: tuple[InputMessage, ...]) -> Iterator[InputMessage]:
    """The messages with that word."""
    yield from messages[:1]
    for before, message in pairwise(messages):
        if before.role == "tool" and message.role == "user":
            yield _CLOSING
        yield message


def places_to_mark(messages: tuple[InputMessage, ...]) -> list[int]:
    """Which messages get a mark for the provider's cache: the instructions, and the ends of the newest messages to the
    model."""
    places = [0] if messages and messages[0].role == "system" else []
    ends: list[int] = []
    follower = "assistant"
    for place in range(len(messages) - 1, len(places) - 1, -1):
        if follower == "assistant" and messages[place].role != "assistant":
            ends.append(place)
            if len(ends) == _MARKED:
                break
        follower = messages[place].role
    return [*places, *ends]


def mark_for_cache(form: JsonDict) -> JsonDict:
    """The message with a mark at its last text."""
    texts = [block for block in form["content"] if block["type"] == "text"]
    if texts:
        texts[-1]["cache_control"] = _CACHE_CONTROL
    return form


def build_message(dialect: Dialect, message: InputMessage) -> JsonDict:
    """A message in the form that the dialect's provider takes."""
    match message:
        case SystemInput():
            return {"role": "system", "content": _text_content(dialect, message.content)}
        case UserInput(content=str(text)):
            return {"role": "user", "content": _text_content(dialect, text)}
        case UserInput(content=pieces):
            return {"role": "user", "content": [_piece(dialect, each) for each in pieces if not isinstance(each, str)]}
        case ToolResultInput():
            content = message.content if message.content.strip() else _NO_OUTPUT
            id = _id(dialect, message.call)
            return {"role": "tool", "tool_call_id": id, "content": _text_content(dialect, content)}
        case AssistantInput():
            return _assistant(dialect, message)


def _assistant(dialect: Dialect, message: AssistantInput) -> JsonDict:
    """This protocol has one text before all calls."""
    details, thoughts = message.details, [thought.text for thought in message.thoughts if thought.text]
    field = next((str(block[FIELD]) for block in details if FIELD in block), REASONING[0])
    form: JsonDict = {"role": "assistant", "content": _answer_content(message, field, "\n".join(thoughts)) or None}
    if message.calls:
        form["tool_calls"] = [*_calls(dialect, message.parts)]
    if blocks := [_sendable_block(block) for block in details if "type" in block]:
        form["thinking_blocks"] = blocks
    if whole := [_sendable_block(block[DETAIL]) for block in details if DETAIL in block]:
        form[DETAIL] = whole
        field = REASONING[0]
    if dialect.reasoning and (dialect.missing_reasoning or not whole):
        reasoning = "\n".join(thoughts) if field in REASONING else ""
        if reasoning or dialect.missing_reasoning:
            form[field if reasoning else REASONING[0]] = utf8_safe(reasoning) or dialect.missing_reasoning
    return form


def _answer_content(message: AssistantInput, field: str, reasoning: str) -> str | list[JsonDict]:
    match field:
        case "<think>":
            return utf8_safe(f"{THINK_TAG}{reasoning}{THINK_END}{message.text}")
        case "thinking":
            return [chunk for part in message.parts for chunk in _chunks(part)]
    return utf8_safe(message.text)


def _chunks(part: AnswerPart) -> Iterator[JsonDict]:
    """The content in Mistral's form."""
    match part:
        case TextPart(text=text):
            yield {"type": "text", "text": utf8_safe(text)}
        case ReasoningPart(text=text, details=details) if text:
            signature = next((block["signature"] for block in details if "signature" in block), None)
            signed = {"signature": signature} if signature else {}
            yield {"type": CHUNK, "thinking": [{"type": "text", "text": utf8_safe(text)}], **signed}


def _calls(dialect: Dialect, parts: Iterable[AnswerPart]) -> Iterator[JsonDict]:
    """Each call with the details of the reasoning before it."""
    extra: JsonDict = {}
    for part in parts:
        match part:
            case ReasoningPart(details=details):
                extra = next((block for block in details if CALL_EXTRA in block), extra)
            case RequestedCall():
                function = {"name": utf8_safe(part.name), "arguments": utf8_safe(part.arguments)}
                yield {"id": _id(dialect, part.id), "type": "function", "function": function, **extra}
                extra = {}


def _id(dialect: Dialect, id: str) -> str:
    if dialect.call_ids is None:
        return id
    return sendable_id(id, dialect.call_ids)[: dialect.id_length]


def _sendable_block(block: JsonValue) -> JsonDict:
    form: JsonDict = json.loads(utf8_safe(json.dumps(block, ensure_ascii=False)))
    return form


def _text_content(dialect: Dialect, text: str) -> str | list[JsonDict]:
    """A text, in a list if it may be marked: the form is the same with and without a mark."""
    content = utf8_safe(text)
    return [{"type": "text", "text": content}] if dialect.cache_marks else content


def _piece(dialect: Dialect, piece: Piece) -> JsonDict:
    match piece:
        case TextPiece():
            return {"type": "text", "text": utf8_safe(piece.text)}
        case ImagePiece():
            return {"type": "image_url", "image_url": {"url": piece.url}}
        case FilePiece() if dialect.documents == "document_url":
            return {"type": "document_url", "document_url": piece.url, "document_name": utf8_safe(piece.name)}
        case FilePiece():
            return {"type": "file", "file": {"filename": utf8_safe(piece.name), "file_data": piece.url}}


def chat_tool(tool: ToolOffer) -> JsonDict:
    function: dict[str, JsonValue] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": function}
