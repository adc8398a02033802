"""Our requests in the form of OpenAI's Responses API, and its events as ours.

The provider stores nothing (`store: false`): thoughts come encrypted, and return to the same model with the next
request.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import JsonValue

from activities.model import port
from activities.model.request_json import JsonDict, utf8_safe
from activities.model.wires.answer_reader import AnswerReader, count_tokens, require_text
from workflows.domain.messages import RequestedCall
from workflows.domain.tool_offer import ToolOffer
from workflows.domain.usage import ReportedUsage

_REASONING_MODELS: Final = re.compile(
    r"(gpt-([5-9]|\d\d)|o\d|codex|gpt-daybreak)(?!.*-chat)"
)  # others refuse `reasoning`
_DEFAULT_EFFORT_MODELS: Final = re.compile(r"gpt-([5-9]|\d\d)(?!.*-(chat|pro))")  # asked to think as OpenCode asks them
_INCOMPLETE_FINISHES: Final = {"max_output_tokens": port.Finish.LENGTH, "content_filter": port.Finish.CONTENT_FILTER}
_LONGEST_ID: Final = 64  # characters of a call's id
_OPTION_PATHS: Final = {  # options of the chat protocol, and of OpenCode's packages → their paths here
    "reasoning_effort": ("reasoning", "effort"),
    "reasoningEffort": ("reasoning", "effort"),
    "reasoningSummary": ("reasoning", "summary"),
    "verbosity": ("text", "verbosity"),
    "textVerbosity": ("text", "verbosity"),
    "max_completion_tokens": ("max_output_tokens",),
    "promptCacheKey": ("prompt_cache_key",),
    "serviceTier": ("service_tier",),
    "parallelToolCalls": ("parallel_tool_calls",),
    "topP": ("top_p",),
}
_ITEM, _POSITION = "item", "before"  # the item of reasoning, and how many texts and calls precede it


def build_body(request: port.ModelRequest) -> JsonDict:
    """The request without its model."""
    form: JsonDict = {
        "input": [item for message in request.messages for item in _items(message)],
        "store": False,
        "stream": True,
    }
    system = [message.content for message in request.messages if isinstance(message, port.SystemInput)]
    parameters = {
        "instructions": utf8_safe("\n".join(system)) or None,
        "tools": [_tool(tool) for tool in request.tools] or None,
        "tool_choice": request.tool_choice if request.tools else None,
        "temperature": request.temperature,
        "max_output_tokens": request.max_output,
    }
    form |= {name: value for name, value in parameters.items() if value is not None}
    return _with_options(form | _thinking(request.endpoint.name), request.options)


def _thinking(model: str) -> JsonDict:
    if not _REASONING_MODELS.match(model):
        return {}
    effort = {"reasoning": {"effort": "medium", "summary": "auto"}} if _DEFAULT_EFFORT_MODELS.match(model) else {}
    return {"include": ["reasoning.encrypted_content"], **effort}


def _with_options(form: JsonDict, options: Mapping[str, JsonValue]) -> JsonDict:
    for option, value in options.items():
        *outer, name = _OPTION_PATHS.get(option, (option,))
        target = form
        for each in outer:
            target = target.setdefault(each, {})
        if isinstance(value, dict) and isinstance(target.get(name), dict):
            target[name] = {**target[name], **value}
        else:
            target[name] = value
    return form


def _tool(tool: ToolOffer) -> JsonDict:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": False,  # a strict schema may have no optional members
    }


def _items(message: port.InputMessage) -> Iterator[JsonDict]:
    match message:
        case port.UserInput(content=str(content)):
            yield {"role": "user", "content": utf8_safe(content)}
        case port.UserInput(content=pieces):
            yield {"role": "user", "content": [_piece(piece) for piece in pieces if not isinstance(piece, str)]}
        case port.AssistantInput():
            yield from _answer(message)
        case port.ToolResultInput():
            yield {"type": "function_call_output", "call_id": _id(message.call), "output": utf8_safe(message.content)}


def _piece(piece: port.Piece) -> JsonDict:
    match piece:
        case port.TextPiece():
            return {"type": "input_text", "text": utf8_safe(piece.text)}
        case port.ImagePiece():
            return {"type": "input_image", "image_url": piece.url, "detail": "auto"}
        case port.FilePiece():
            return {"type": "input_file", "filename": utf8_safe(piece.name), "file_data": piece.url}


def _answer(message: port.AssistantInput) -> Iterator[JsonDict]:
    items = [{"role": "assistant", "content": utf8_safe(message.content)}] if message.content else []
    items += [_call(call) for call in message.calls]
    for position, item in enumerate(items):
        yield from (_reasoning_item(block) for block in message.details if block.get(_POSITION) == position)
        yield item


def _reasoning_item(block: Mapping[str, Any]) -> JsonDict:
    return dict(block[_ITEM])


def _call(call: RequestedCall) -> JsonDict:
    return {
        "type": "function_call",
        "call_id": _id(call.id),
        "name": utf8_safe(call.name),
        "arguments": utf8_safe(call.arguments),
    }


def _id(id: str) -> str:
    """Another provider's may be longer than this API takes."""
    return id if len(id) <= _LONGEST_ID else hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()


class ResponsesReader(AnswerReader):
    """Reads one response's events."""

    def __init__(self, provider: str) -> None:
        super().__init__(provider)
        self._texts = 0
        self._calls = 0
        self._refused = False

    def events(self, event: Any) -> Iterator[port.ModelEvent]:
        match event["type"]:
            case "response.output_text.delta":
                self._texts = 1
                yield port.TextDelta(require_text(event["delta"]) or "")
            case "response.refusal.delta" | "response.refusal.done":
                self._refused = True
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                yield port.ReasoningDelta(require_text(event["delta"]) or "")
            case "response.reasoning_summary_part.added" if event["summary_index"]:
                yield port.ReasoningDelta("\n\n")
            case "response.output_item.added" if event["item"]["type"] == "function_call":
                self._calls += 1
                call = event["item"]
                yield port.ToolCallDelta(event["output_index"], require_text(call["call_id"]), call["name"], "")
            case "response.function_call_arguments.delta":
                yield port.ToolCallDelta(event["output_index"], None, None, require_text(event["delta"]) or "")
            case "response.output_item.done" if event["item"]["type"] == "reasoning":
                yield from self._reasoning(event["item"])
            case _:
                self._set_finish(event)

    def _reasoning(self, item: JsonDict) -> Iterator[port.ModelEvent]:
        """Without its encrypted content, reasoning is unreadable."""
        if item.get("encrypted_content"):
            kept = {name: item[name] for name in ("type", "id", "summary", "encrypted_content")}
            yield port.ReasoningDelta("", {_ITEM: kept, _POSITION: self._texts + self._calls})

    def _set_finish(self, event: JsonDict) -> None:
        match event["type"]:
            case "response.completed" | "response.incomplete":
                self._set_usage(event["response"].get("usage") or {})
                self.finish_reason = self._end(event["response"])
            case "response.failed":
                raise self.reported_failure(event["response"].get("error") or {})
            case "error":
                raise self.reported_failure(event.get("error") or event)

    def _end(self, response: JsonDict) -> port.Finish:
        if self._refused:
            return port.Finish.CONTENT_FILTER
        if response["status"] == "incomplete":
            details: JsonDict = response.get("incomplete_details") or {}
            return _INCOMPLETE_FINISHES.get(details.get("reason", ""), port.Finish.UNKNOWN)
        return port.Finish.TOOL_CALLS if self._calls else port.Finish.STOP

    def _set_usage(self, usage: JsonDict) -> None:
        details: JsonDict = usage.get("input_tokens_details") or {}
        self.tokens = count_tokens(
            ReportedUsage(
                input=usage.get("input_tokens"),
                output=usage.get("output_tokens"),
                total=usage.get("total_tokens"),
                reasoning=(usage.get("output_tokens_details") or {}).get("reasoning_tokens"),
                cache_read=details.get("cached_tokens"),
                cache_write=details.get("cache_write_tokens"),
            )
        )
