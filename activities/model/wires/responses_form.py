"""Our requests in the form of OpenAI's Responses API, and its events as ours.

Nothing of a conversation is kept by the provider (`store: false`): what a model thought comes back encrypted, and is
given back to the same model with the next request.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import JsonValue

from activities.model import port
from activities.model.sendable import Form, sendable
from activities.model.wires.reader import Reader, counted, text
from workflows.domain.usage import ReportedUsage

_THINKS: Final = re.compile(r"(gpt-([5-9]|\d\d)|o\d|codex|gpt-daybreak)(?!.*-chat)")  # others refuse `reasoning`
_EFFORT: Final = re.compile(r"gpt-([5-9]|\d\d)(?!.*-(chat|pro))")  # are asked to think as OpenCode asks them
_CUT: Final = {"max_output_tokens": port.Finish.LENGTH, "content_filter": port.Finish.CONTENT_FILTER}
_LONGEST_ID: Final = 64  # characters of a call's id
_NAMES: Final = {  # options of the chat protocol, and of OpenCode's packages → where they stand here
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
_ITEM, _PLACE = "item", "before"  # of what is kept: the item of reasoning, and how many texts and calls preceded it


def body(request: port.ModelRequest) -> Form:
    """The request without its model."""
    form: Form = {
        "input": [item for message in request.messages for item in _items(message)],
        "store": False,
        "stream": True,
    }
    system = [message.content for message in request.messages if isinstance(message, port.SystemMessage)]
    asked = {
        "instructions": sendable("\n".join(system)) or None,
        "tools": [_tool(tool) for tool in request.tools] or None,
        "tool_choice": request.tool_choice if request.tools else None,
        "temperature": request.temperature,
        "max_output_tokens": request.max_output,
    }
    form |= {name: value for name, value in asked.items() if value is not None}
    return _with_options(form | _thinking(request.endpoint.name), request.options)


def _thinking(model: str) -> Form:
    if not _THINKS.match(model):
        return {}
    effort = {"reasoning": {"effort": "medium", "summary": "auto"}} if _EFFORT.match(model) else {}
    return {"include": ["reasoning.encrypted_content"], **effort}


def _with_options(form: Form, options: Mapping[str, JsonValue]) -> Form:
    for option, value in options.items():
        *outer, name = _NAMES.get(option, (option,))
        target = form
        for each in outer:
            target = target.setdefault(each, {})
        if isinstance(value, dict) and isinstance(target.get(name), dict):
            target[name] = {**target[name], **value}
        else:
            target[name] = value
    return form


def _tool(tool: port.ToolOffer) -> Form:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": False,  # a strict schema may have no optional members
    }


def _items(message: port.Message) -> Iterator[Form]:
    match message:
        case port.UserMessage(content=str(content)):
            yield {"role": "user", "content": sendable(content)}
        case port.UserMessage(content=pieces):
            yield {"role": "user", "content": [_piece(piece) for piece in pieces if not isinstance(piece, str)]}
        case port.AssistantMessage():
            yield from _answer(message)
        case port.ToolMessage():
            yield {"type": "function_call_output", "call_id": _id(message.call), "output": sendable(message.content)}


def _piece(piece: port.Piece) -> Form:
    match piece:
        case port.TextPiece():
            return {"type": "input_text", "text": sendable(piece.text)}
        case port.ImagePiece():
            return {"type": "input_image", "image_url": piece.url, "detail": "auto"}
        case port.FilePiece():
            return {"type": "input_file", "filename": sendable(piece.name), "file_data": piece.url}


def _answer(message: port.AssistantMessage) -> Iterator[Form]:
    """The items of an answer, what the model thought in the places where it did."""
    items = [{"role": "assistant", "content": sendable(message.content)}] if message.content else []
    items += [_call(call) for call in message.calls]
    for place, item in enumerate(items):
        yield from (_kept(block) for block in message.details if block.get(_PLACE) == place)
        yield item


def _kept(block: Mapping[str, Any]) -> Form:
    return dict(block[_ITEM])


def _call(call: port.RequestedCall) -> Form:
    return {
        "type": "function_call",
        "call_id": _id(call.id),
        "name": sendable(call.name),
        "arguments": sendable(call.arguments),
    }


def _id(id: str) -> str:
    """An id as this API takes it; that of another provider may be longer."""
    return id if len(id) <= _LONGEST_ID else hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()


class ResponsesReader(Reader):
    """Reads the events of one response."""

    def __init__(self, provider: str) -> None:
        super().__init__(provider)
        self._texts = 0
        self._calls = 0
        self._refused = False

    def events(self, event: Any) -> Iterator[port.ModelEvent]:
        match event["type"]:
            case "response.output_text.delta":
                self._texts = 1
                yield port.TextDelta(text(event["delta"]) or "")
            case "response.refusal.delta" | "response.refusal.done":
                self._refused = True
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                yield port.ReasoningDelta(text(event["delta"]) or "")
            case "response.reasoning_summary_part.added" if event["summary_index"]:
                yield port.ReasoningDelta("\n\n")
            case "response.output_item.added" if event["item"]["type"] == "function_call":
                self._calls += 1
                call = event["item"]
                yield port.ToolCallDelta(event["output_index"], text(call["call_id"]), call["name"], "")
            case "response.function_call_arguments.delta":
                yield port.ToolCallDelta(event["output_index"], None, None, text(event["delta"]) or "")
            case "response.output_item.done" if event["item"]["type"] == "reasoning":
                yield from self._thought(event["item"])
            case _:
                self._ended(event)

    def _thought(self, item: Form) -> Iterator[port.ModelEvent]:
        """What the model thought, as it is given back; without its encrypted content nobody could read it."""
        if item.get("encrypted_content"):
            kept = {name: item[name] for name in ("type", "id", "summary", "encrypted_content")}
            yield port.ReasoningDelta("", {_ITEM: kept, _PLACE: self._texts + self._calls})

    def _ended(self, event: Form) -> None:
        match event["type"]:
            case "response.completed" | "response.incomplete":
                self._used(event["response"].get("usage") or {})
                self.end = self._end(event["response"])
            case "response.failed":
                raise self.reported(event["response"].get("error") or {})
            case "error":
                raise self.reported(event.get("error") or event)

    def _end(self, response: Form) -> port.Finish:
        if self._refused:
            return port.Finish.CONTENT_FILTER
        if response["status"] == "incomplete":
            details: Form = response.get("incomplete_details") or {}
            return _CUT.get(details.get("reason", ""), port.Finish.UNKNOWN)
        return port.Finish.TOOL_CALLS if self._calls else port.Finish.STOP

    def _used(self, usage: Form) -> None:
        details: Form = usage.get("input_tokens_details") or {}
        self.tokens = counted(
            ReportedUsage(
                input=usage.get("input_tokens"),
                output=usage.get("output_tokens"),
                total=usage.get("total_tokens"),
                reasoning=(usage.get("output_tokens_details") or {}).get("reasoning_tokens"),
                cache_read=details.get("cached_tokens"),
                cache_write=details.get("cache_write_tokens"),
            )
        )
