"""Our requests in litellm's form, and its chunks as our events. It is OpenAI's form with a few fields more."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from pydantic import JsonValue
from pydantic_core import to_json

from activities.model.port import (
    AssistantMessage,
    FilePiece,
    Finish,
    ImagePiece,
    Message,
    ModelEvent,
    ModelRequest,
    Piece,
    ReasoningDelta,
    RequestedCall,
    SystemMessage,
    TextDelta,
    TextPiece,
    ToolCallDelta,
    ToolMessage,
    ToolOffer,
    UserMessage,
)
from activities.model.remembered import Remembered
from activities.model.sendable import Form, sendable
from activities.model.wires.reader import Reader, counted, text
from workflows.domain.usage import ReportedUsage, Tokens

_FINISHES: Final = {
    "stop": Finish.STOP,
    "tool_calls": Finish.TOOL_CALLS,
    "tool-calls": Finish.TOOL_CALLS,
    "function_call": Finish.TOOL_CALLS,
    "length": Finish.LENGTH,
    "content_filter": Finish.CONTENT_FILTER,
    "content-filter": Finish.CONTENT_FILTER,
}
_MOST_DOLLARS: Final = 10_000  # what an answer can be believed to have cost
_TAKE_REASONING_BACK: Final = ("compatible", "deepseek", "moonshot")  # the others refuse it, or want their own form


@dataclass(frozen=True, slots=True)
class Written:
    """Messages that are JSON already, each by itself."""

    messages: list[bytes]


def body(request: ModelRequest, known: Remembered[Message, bytes] | None = None) -> Form:
    """The request without what says where it goes; what is not asked for is left out. Where somebody remembers what is
    `known`, the messages are JSON, of which only that of new ones is written.
    """
    text_back = request.endpoint.provider in _TAKE_REASONING_BACK
    asked = {
        "tools": [_tool(tool) for tool in request.tools] or None,
        "tool_choice": request.tool_choice if request.tools else None,
        "temperature": request.temperature,
        "max_tokens": request.max_output,
    }
    return {
        **request.options,
        **{name: value for name, value in asked.items() if value is not None},
        "messages": _messages(request, text_back) if known is None else _written(request, text_back, known),
        "stream_options": {"include_usage": True},
    }


def dumps(body: Form) -> bytes:
    """The JSON of a body, whichever way its messages are."""
    said = body.get("messages")
    if not isinstance(said, Written):
        return to_json(body)
    rest = to_json({name: value for name, value in body.items() if name != "messages"})
    return b'{"messages":[%b],%b' % (b",".join(said.messages), rest[1:])


class ChunkReader(Reader):
    """Reads the chunks of one answer: an endpoint's JSON as it came, or objects of litellm's with the same members."""

    def __init__(self, provider: str) -> None:
        super().__init__(provider)
        self._thought: list[str] = []

    def events(self, event: Any) -> Iterator[ModelEvent]:
        chunk = event if isinstance(event, dict) else event.model_dump()
        if error := chunk.get("error"):
            raise self.reported(error)
        self._used(chunk.get("usage"))
        for choice in chunk["choices"][:1]:
            self._used(choice.get("usage"))  # Moonshot
            yield from self._delta(choice.get("delta") or {})  # some say null where nothing is added
            if reason := choice.get("finish_reason"):
                self.end = _FINISHES.get(reason, Finish.UNKNOWN)

    def _used(self, usage: Any) -> None:
        if usage:
            self.tokens, self.charged = _tokens(usage), _charged(usage)

    def _delta(self, delta: Form) -> Iterator[ModelEvent]:
        thought = text(delta.get("reasoning_content") or delta.get("reasoning"))
        if thought:
            self._thought.append(thought)
            yield ReasoningDelta(thought)
        yield from self._details(delta.get("thinking_blocks") or ())
        if content := text(delta.get("content")):
            yield TextDelta(content)
        for call in delta.get("tool_calls") or ():
            yield _piece_of_a_call(call)

    def _details(self, blocks: Any) -> Iterator[ModelEvent]:
        """Anthropic signs a block of thinking at its end: it has to be given back with all of its text."""
        for block in blocks:
            if block.get("signature"):
                whole = {"type": "thinking", "thinking": "".join(self._thought), "signature": block["signature"]}
                self._thought.clear()
                yield ReasoningDelta("", whole)
            elif block.get("type") == "redacted_thinking":
                yield ReasoningDelta("", dict(block))


def _piece_of_a_call(call: Form) -> ToolCallDelta:
    """A piece of a call; some endpoints send the arguments as an object."""
    function = call["function"]
    arguments = function.get("arguments") or ""
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments)
    return ToolCallDelta(call.get("index") or 0, text(call.get("id")), text(function.get("name")), arguments)


def _tokens(usage: Any) -> Tokens:
    """What the answer has used; counts of another form are none, and no reason to lose an answer."""
    try:
        return counted(_reported(usage))
    except (AttributeError, LookupError, TypeError, ValueError):
        return Tokens()


def _charged(usage: Any) -> Decimal | None:
    """The US dollars that OpenRouter took (`usage.cost`).

    None where that may not be all: with a key of one's own for the company behind it (`is_byok`, which litellm leaves
    out) it takes its fee only, often 0, and the answer is paid elsewhere.
    """
    cost = usage.get("cost") if isinstance(usage, dict) and not usage.get("is_byok") else None
    return Decimal(str(cost)) if isinstance(cost, int | float) and 0 < cost < _MOST_DOLLARS else None


def _reported(usage: Form) -> ReportedUsage:
    prompt = usage.get("prompt_tokens_details") or {}
    completion = usage.get("completion_tokens_details") or {}
    return ReportedUsage(
        input=usage["prompt_tokens"],
        output=usage["completion_tokens"],
        total=usage.get("total_tokens"),
        reasoning=completion.get("reasoning_tokens"),
        cache_read=prompt.get("cached_tokens")
        or usage.get("prompt_cache_hit_tokens")  # DeepSeek
        or usage.get("cached_tokens")  # Moonshot
        or usage.get("cache_read_input_tokens"),  # Anthropic's name, behind proxies
        cache_write=prompt.get("cache_creation_tokens")
        or prompt.get("cache_write_tokens")  # OpenRouter
        or usage.get("cache_creation_input_tokens"),
    )


def _messages(request: ModelRequest, text_back: bool) -> list[Form]:
    return [_message(message, text_back) for message in request.messages]


def _written(request: ModelRequest, text_back: bool, known: Remembered[Message, bytes]) -> Written:
    return Written(known.each(request.messages, text_back, lambda message: to_json(_message(message, text_back))))


def _message(message: Message, reasoning_back: bool) -> Form:
    match message:
        case SystemMessage():
            return {"role": "system", "content": sendable(message.content)}
        case UserMessage():
            return {"role": "user", "content": _content(message.content)}
        case ToolMessage():
            return {"role": "tool", "tool_call_id": message.call, "content": sendable(message.content)}
        case AssistantMessage():
            return _assistant(message, reasoning_back)


def _assistant(message: AssistantMessage, reasoning_back: bool) -> Form:
    form: Form = {"role": "assistant", "content": message.content and sendable(message.content)}
    if message.calls:
        form["tool_calls"] = [_call(call) for call in message.calls]
    if message.details:
        form["thinking_blocks"] = [_sendable_block(block) for block in message.details]
    if message.reasoning and reasoning_back:
        form["reasoning_content"] = sendable(message.reasoning)
    return form


def _sendable_block(block: dict[str, JsonValue]) -> Form:
    form: Form = json.loads(sendable(json.dumps(block, ensure_ascii=False)))
    return form


def _call(call: RequestedCall) -> Form:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": sendable(call.name), "arguments": sendable(call.arguments)},
    }


def _content(content: str | tuple[Piece, ...]) -> str | list[Form]:
    return sendable(content) if isinstance(content, str) else [_piece(piece) for piece in content]


def _piece(piece: Piece) -> Form:
    match piece:
        case TextPiece():
            return {"type": "text", "text": sendable(piece.text)}
        case ImagePiece():
            return {"type": "image_url", "image_url": {"url": piece.url}}
        case FilePiece():
            return {"type": "file", "file": {"filename": sendable(piece.name), "file_data": piece.url}}


def _tool(tool: ToolOffer) -> dict[str, JsonValue]:
    function: dict[str, JsonValue] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": function}
