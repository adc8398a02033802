"""Our requests in litellm's form, OpenAI's with a few more fields, and its chunks as our events."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from pydantic import JsonValue
from pydantic_core import to_json

from activities.model.identity_cache import IdentityCache
from activities.model.port import (
    AssistantInput,
    FilePiece,
    Finish,
    ImagePiece,
    InputMessage,
    ModelEvent,
    ModelRequest,
    Piece,
    ReasoningDelta,
    SystemInput,
    TextDelta,
    TextPiece,
    ToolCallDelta,
    ToolResultInput,
    UserInput,
)
from activities.model.request_json import JsonDict, utf8_safe
from activities.model.wires.answer_reader import AnswerReader, count_tokens, require_text
from workflows.domain.messages import RequestedCall
from workflows.domain.tool_offer import ToolOffer
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
_MAX_PLAUSIBLE_COST: Final = 10_000  # upper bound of a believable answer
_ACCEPTS_REASONING: Final = ("compatible", "deepseek", "moonshot")  # the others refuse it, or want their own form


@dataclass(frozen=True, slots=True)
class EncodedMessages:
    """Messages, each encoded as JSON."""

    messages: list[bytes]


def build_body(request: ModelRequest, cache: IdentityCache[InputMessage, bytes] | None = None) -> JsonDict:
    """The request without destination and unset options; with a `cache`, encodes only new messages."""
    with_reasoning = request.endpoint.provider in _ACCEPTS_REASONING
    parameters = {
        "tools": [_tool(tool) for tool in request.tools] or None,
        "tool_choice": request.tool_choice if request.tools else None,
        "temperature": request.temperature,
        "max_tokens": request.max_output,
    }
    return {
        **request.options,
        **{name: value for name, value in parameters.items() if value is not None},
        "messages": _messages(request, with_reasoning)
        if cache is None
        else _encode_messages(request, with_reasoning, cache),
        "stream_options": {"include_usage": True},
    }


def encode_body(body: JsonDict) -> bytes:
    """A body as JSON, with encoded messages or not."""
    encoded = body.get("messages")
    if not isinstance(encoded, EncodedMessages):
        return to_json(body)
    rest = to_json({name: value for name, value in body.items() if name != "messages"})
    return b'{"messages":[%b],%b' % (b",".join(encoded.messages), rest[1:])


class ChunkReader(AnswerReader):
    """Reads one answer's chunks: an endpoint's JSON, or litellm's objects with the same members."""

    def __init__(self, provider: str) -> None:
        super().__init__(provider)
        self._thought: list[str] = []

    def events(self, event: Any) -> Iterator[ModelEvent]:
        chunk = event if isinstance(event, dict) else event.model_dump()
        if error := chunk.get("error"):
            raise self.reported_failure(error)
        self._set_usage(chunk.get("usage"))
        for choice in chunk["choices"][:1]:
            self._set_usage(choice.get("usage"))  # Moonshot
            yield from self._delta(choice.get("delta") or {})  # some say null where nothing is added
            if reason := choice.get("finish_reason"):
                self.finish_reason = _FINISHES.get(reason, Finish.UNKNOWN)

    def _set_usage(self, usage: Any) -> None:
        if usage:
            self.tokens, self.reported_cost = _tokens(usage), _reported_cost(usage)

    def _delta(self, delta: JsonDict) -> Iterator[ModelEvent]:
        thought = require_text(delta.get("reasoning_content") or delta.get("reasoning"))
        if thought:
            self._thought.append(thought)
            yield ReasoningDelta(thought)
        yield from self._details(delta.get("thinking_blocks") or ())
        if content := require_text(delta.get("content")):
            yield TextDelta(content)
        for call in delta.get("tool_calls") or ():
            yield _call_delta(call)

    def _details(self, blocks: Any) -> Iterator[ModelEvent]:
        """Anthropic signs a block of thinking at its end: it must be returned with all of its text."""
        for block in blocks:
            if block.get("signature"):
                whole = {"type": "thinking", "thinking": "".join(self._thought), "signature": block["signature"]}
                self._thought.clear()
                yield ReasoningDelta("", whole)
            elif block.get("type") == "redacted_thinking":
                yield ReasoningDelta("", dict(block))


def _call_delta(call: JsonDict) -> ToolCallDelta:
    """Some endpoints send the arguments as an object."""
    function = call["function"]
    arguments = function.get("arguments") or ""
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments)
    return ToolCallDelta(
        call.get("index") or 0, require_text(call.get("id")), require_text(function.get("name")), arguments
    )


def _tokens(usage: Any) -> Tokens:
    """Counts of another form become 0: no reason to lose an answer."""
    try:
        return count_tokens(_reported_usage(usage))
    except (AttributeError, LookupError, TypeError, ValueError):
        return Tokens()


def _reported_cost(usage: Any) -> Decimal | None:
    """The US dollars that OpenRouter took (`usage.cost`).

    None if that may not be all: with the person's own key for the company behind it (`is_byok`, which litellm leaves
    out) it takes only its fee, often 0.
    """
    cost = usage.get("cost") if isinstance(usage, dict) and not usage.get("is_byok") else None
    return Decimal(str(cost)) if isinstance(cost, int | float) and 0 < cost < _MAX_PLAUSIBLE_COST else None


def _reported_usage(usage: JsonDict) -> ReportedUsage:
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


def _messages(request: ModelRequest, with_reasoning: bool) -> list[JsonDict]:
    return [_message(message, with_reasoning) for message in request.messages]


def _encode_messages(
    request: ModelRequest, with_reasoning: bool, cache: IdentityCache[InputMessage, bytes]
) -> EncodedMessages:
    return EncodedMessages(
        cache.get_all(request.messages, with_reasoning, lambda message: to_json(_message(message, with_reasoning)))
    )


def _message(message: InputMessage, with_reasoning: bool) -> JsonDict:
    match message:
        case SystemInput():
            return {"role": "system", "content": utf8_safe(message.content)}
        case UserInput():
            return {"role": "user", "content": _content(message.content)}
        case ToolResultInput():
            return {"role": "tool", "tool_call_id": message.call, "content": utf8_safe(message.content)}
        case AssistantInput():
            return _assistant(message, with_reasoning)


def _assistant(message: AssistantInput, with_reasoning: bool) -> JsonDict:
    form: JsonDict = {"role": "assistant", "content": message.content and utf8_safe(message.content)}
    if message.calls:
        form["tool_calls"] = [_call(call) for call in message.calls]
    if message.details:
        form["thinking_blocks"] = [_sendable_block(block) for block in message.details]
    if message.reasoning and with_reasoning:
        form["reasoning_content"] = utf8_safe(message.reasoning)
    return form


def _sendable_block(block: dict[str, JsonValue]) -> JsonDict:
    form: JsonDict = json.loads(utf8_safe(json.dumps(block, ensure_ascii=False)))
    return form


def _call(call: RequestedCall) -> JsonDict:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": utf8_safe(call.name), "arguments": utf8_safe(call.arguments)},
    }


def _content(content: str | tuple[Piece, ...]) -> str | list[JsonDict]:
    return utf8_safe(content) if isinstance(content, str) else [_piece(piece) for piece in content]


def _piece(piece: Piece) -> JsonDict:
    match piece:
        case TextPiece():
            return {"type": "text", "text": utf8_safe(piece.text)}
        case ImagePiece():
            return {"type": "image_url", "image_url": {"url": piece.url}}
        case FilePiece():
            return {"type": "file", "file": {"filename": utf8_safe(piece.name), "file_data": piece.url}}


def _tool(tool: ToolOffer) -> dict[str, JsonValue]:
    function: dict[str, JsonValue] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": function}
