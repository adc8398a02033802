"""Our requests in litellm's form, OpenAI's with a few more fields, and its chunks as our events."""

import json
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, Final

from pydantic import JsonValue

from activities.model.chat_forms import arrange, is_mistral, mistral_id
from activities.model.port import (
    AnswerPart,
    AssistantInput,
    Endpoint,
    FilePiece,
    Finish,
    ImagePiece,
    InputMessage,
    ModelRequest,
    PartDelta,
    Piece,
    ReasoningDelta,
    SystemInput,
    TextDelta,
    TextPiece,
    ToolCallDelta,
    ToolResultInput,
    UserInput,
)
from activities.model.request_json import JsonDict, sendable_id, utf8_safe
from activities.model.wires.answer_reader import AnswerReader, count_tokens, require_text
from workflows.domain.messages import ReasoningPart, RequestedCall
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
_REPORT_COSTS: Final = ("compatible", "openrouter")  # for the others, litellm puts in what its own table makes of it
_MAX_PLAUSIBLE_COST: Final = 10_000  # upper bound of a believable answer
_ACCEPTS_REASONING: Final = ("compatible", "deepseek", "moonshot")  # the others refuse it, or want their own form
_ID: Final = re.compile(r"(?s).{1,40}")  # of a call, as OpenAI takes it; litellm has its own for each provider
_NO_OUTPUT: Final = "(no output)"  # Bedrock refuses a blank result, and for Mistral litellm leaves it out
_REASONING: Final = ("reasoning_content", "reasoning")  # names of it in an answer; the first is the usual one
_FIELD: Final = "field"  # in a detail of reasoning: its name in the answer, if that is another
_OF_CALL: Final = "extra_content"  # what Gemini's endpoint for this protocol wants back with a call


def build_body(request: ModelRequest) -> JsonDict:
    """The request without destination and unset options."""
    messages = [build_message(request, each) for each in arrange(request.endpoint, request.messages)]
    return {**build_parameters(request), "messages": messages}


def build_parameters(request: ModelRequest) -> JsonDict:
    """The same without messages."""
    parameters = {
        "tools": [_tool(tool) for tool in request.tools] or None,
        "tool_choice": request.tool_choice if request.tools else None,
        "temperature": request.temperature,
        "max_tokens": request.max_output,
    }
    return {
        **request.options,
        **{name: value for name, value in parameters.items() if value is not None},
        "stream_options": {"include_usage": True},
    }


def build_message(request: ModelRequest, message: InputMessage) -> JsonDict:
    """A message in the form that the endpoint's provider takes."""
    match message:
        case SystemInput():
            return {"role": "system", "content": utf8_safe(message.content)}
        case UserInput():
            return {"role": "user", "content": _content(message.content)}
        case ToolResultInput():
            id = _id(message.call, request.endpoint)
            content = utf8_safe(message.content) if message.content.strip() else _NO_OUTPUT
            return {"role": "tool", "tool_call_id": id, "content": content}
        case AssistantInput():
            return _assistant(message, request.endpoint)


class ChunkReader(AnswerReader):
    """Reads one answer's chunks: an endpoint's JSON, or litellm's objects with the same members."""

    def __init__(self, provider: str) -> None:
        super().__init__(provider)
        self._thought: list[str] = []
        self._field: str | None = None
        self._refused = False

    def events(self, event: Any) -> Iterator[PartDelta]:
        chunk = event if isinstance(event, dict) else event.model_dump()
        if error := chunk.get("error"):
            raise self.reported_failure(error)
        self._set_usage(chunk.get("usage"))
        for choice in chunk["choices"][:1]:
            self._set_usage(choice.get("usage"))  # Moonshot
            yield from self._delta(choice.get("delta") or {})  # some say null where nothing is added
            if reason := choice.get("finish_reason"):
                self.finish_reason = Finish.CONTENT_FILTER if self._refused else _FINISHES.get(reason, Finish.UNKNOWN)

    def _set_usage(self, usage: Any) -> None:
        if usage:
            self.tokens = _tokens(usage)
            self.reported_cost = _reported_cost(usage) if self.provider in _REPORT_COSTS else None

    def _delta(self, delta: JsonDict) -> Iterator[PartDelta]:
        yield from self._reasoning(delta)
        yield from self._details(delta.get("thinking_blocks") or ())
        if content := require_text(delta.get("content")):
            yield TextDelta(content)
        self._refused = self._refused or bool(delta.get("refusal"))
        for call in delta.get("tool_calls") or ():
            if extra := call.get(_OF_CALL):
                yield ReasoningDelta("", {_OF_CALL: extra})
            yield _call_delta(call)

    def _reasoning(self, delta: JsonDict) -> Iterator[PartDelta]:
        """Reasoning of another name than the usual one goes back under its own: some endpoints refuse the other."""
        name = next((name for name in _REASONING if delta.get(name)), None)
        thought = require_text(delta.get(name)) if name else None
        if thought:
            self._thought.append(thought)
            unusual = name != _REASONING[0] and self._field != name
            self._field = name
            yield ReasoningDelta(thought, {_FIELD: name} if unusual else None)

    def _details(self, blocks: Any) -> Iterator[PartDelta]:
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


def _assistant(message: AssistantInput, endpoint: Endpoint) -> JsonDict:
    """This protocol has one text before all calls."""
    form: JsonDict = {"role": "assistant", "content": utf8_safe(message.text) or None}
    if message.calls:
        form["tool_calls"] = [*_calls(message.parts, endpoint)]
    if blocks := [_sendable_block(block) for block in message.details if "type" in block]:
        form["thinking_blocks"] = blocks
    reasoning = "\n".join(thought.text for thought in message.thoughts if thought.text)
    if reasoning and endpoint.provider in _ACCEPTS_REASONING:
        field = next((str(block[_FIELD]) for block in message.details if _FIELD in block), _REASONING[0])
        form[field] = utf8_safe(reasoning)
    return form


def _calls(parts: Iterable[AnswerPart], endpoint: Endpoint) -> Iterator[JsonDict]:
    """Each with what stands in the reasoning before it."""
    extra: JsonDict = {}
    for part in parts:
        match part:
            case ReasoningPart(details=details):
                extra = next((block for block in details if _OF_CALL in block), extra)
            case RequestedCall():
                function = {"name": utf8_safe(part.name), "arguments": utf8_safe(part.arguments)}
                yield {"id": _id(part.id, endpoint), "type": "function", "function": function, **extra}
                extra = {}


def _id(id: str, endpoint: Endpoint) -> str:
    if is_mistral(endpoint):
        return mistral_id(id)
    return sendable_id(id, _ID) if endpoint.compatible else id


def _sendable_block(block: dict[str, JsonValue]) -> JsonDict:
    form: JsonDict = json.loads(utf8_safe(json.dumps(block, ensure_ascii=False)))
    return form


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
