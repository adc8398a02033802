"""Ollama's own protocol: our requests, and its answers as our events."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import uuid4

from pydantic import JsonValue

from activities.model.chat_format import chat_tool
from activities.model.endpoint import Wire
from activities.model.port import (
    AssistantInput,
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
from activities.model.request_json import JsonDict, encode_body, encode_json, merge_options, parse_arguments
from activities.model.wires.answer_reader import AnswerReader, arguments_text, require_text
from activities.model.wires.chat_options import translatable
from activities.model.wires.wire_request import CalledTools, WireRequest, encode_tools
from prompts import render_prompt
from workflows.domain.usage import ReportedUsage

_FINISHES: Final = {"stop": Finish.STOP, "length": Finish.LENGTH}  # any other, as "load", ends no answer: ask again
_PATH: Final = "/api/chat"
_TOP: Final = ("think", "keep_alive", "format", "truncate", "shift", "logprobs", "top_logprobs", "options")
_NAMES: Final = {  # options of the chat protocol, and of OpenCode's package for it → here
    "max_completion_tokens": "num_predict",
    "minP": "min_p",
    "repeatPenalty": "repeat_penalty",
    "numCtx": "num_ctx",
}
_PATHS: Final = (
    {name: (name,) for name in _TOP}
    | {name: ("options", ours) for name, ours in _NAMES.items()}
    | {"keepAlive": ("keep_alive",)}
)
_LEVELS: Final[Mapping[str, bool | str]] = {"none": False, "minimal": "low", "xhigh": "max"}  # it has no such levels
_NOT_CUT: Final = {"truncate": False, "shift": False}  # a prompt that is too long is refused, not cut in silence


class OllamaReader(AnswerReader):
    """Reads one answer's lines; calls come whole."""

    def __init__(self, provider: str) -> None:
        super().__init__(provider)
        self._calls = 0

    def events(self, event: Any) -> list[PartDelta]:
        if "done" not in event or "error" in event:
            self.raise_reported(event, "done")
        message = event.get("message") or {}
        added: list[PartDelta] = []
        if thought := require_text(message.get("thinking")):
            added.append(ReasoningDelta(thought))
        if content := require_text(message.get("content")):
            added.append(TextDelta(content))
        if calls := message.get("tool_calls"):
            added += map(self._call, calls)
        if event.get("done"):
            self._end(event)
        return added

    def _call(self, call: dict[str, Any]) -> ToolCallDelta:
        """Older servers give calls no ids."""
        id = require_text(call.get("id")) or f"call_{uuid4().hex[:24]}"
        function, index = call["function"], self._calls
        self._calls += 1
        return ToolCallDelta(index, id, require_text(function["name"]), arguments_text(function.get("arguments")))

    def _end(self, event: dict[str, Any]) -> None:
        """Some servers name no reason."""
        reason = event.get("done_reason") or "stop"
        finish = _FINISHES.get(reason, Finish.UNKNOWN)
        self.end_as(Finish.TOOL_CALLS if finish is Finish.STOP and self._calls else finish, reason)
        self.usage = event
        self.ended = True

    def reported_usage(self, usage: Any) -> ReportedUsage:
        return ReportedUsage(input=usage.get("prompt_eval_count"), output=usage.get("eval_count"))


def prepare(request: ModelRequest) -> WireRequest:
    endpoint, tools = request.endpoint, CalledTools(request.messages)
    messages = request.encoder.encode(
        request.messages, Wire.OLLAMA, lambda each: (None, encode_json(_message(each, tools)))
    )
    return WireRequest(
        f"{endpoint.base_url}{_PATH}",
        {**endpoint.authorization, **endpoint.headers},
        encode_body("messages", messages, _parameters(request)),
    )


def _parameters(request: ModelRequest) -> JsonDict:
    limits = {
        "num_ctx": request.context or None,
        "num_predict": request.max_output,
        "temperature": request.temperature,
    }
    form: JsonDict = {"model": request.endpoint.name, "stream": True, **_NOT_CUT}
    form["options"] = {name: value for name, value in limits.items() if value is not None}
    if tools := encode_tools(request, chat_tool):
        form["tools"] = tools
    if (think := _think(request.options)) is not None:
        form["think"] = think
    others = translatable(request.options, ("user", "reasoning_effort", "thinking"))
    return merge_options(form, others, _PATHS, default=("options",))


def _think(options: Mapping[str, JsonValue]) -> bool | str | None:
    """The server's default is that every model thinks if it can."""
    effort, thinking = options.get("reasoning_effort"), options.get("thinking")
    if isinstance(effort, str):
        return _LEVELS.get(effort, effort)
    return thinking.get("type") != "disabled" if isinstance(thinking, dict) else None


def _message(message: InputMessage, tools: CalledTools) -> JsonDict:
    match message:
        case SystemInput() | UserInput(content=str()):
            return {"role": message.role, "content": message.content}
        case UserInput(content=pieces):
            return _shown([piece for piece in pieces if not isinstance(piece, str)])
        case ToolResultInput():
            name = tools.of(message)
            return {"role": "tool", "content": message.content, "tool_name": name, "tool_call_id": message.call}
        case AssistantInput():
            return _answer(message)


def _shown(pieces: list[Piece]) -> JsonDict:
    """Ollama takes pictures, and no documents."""
    texts = [piece.text for piece in pieces if isinstance(piece, TextPiece)]
    left_out = [piece.name for piece in pieces if isinstance(piece, FilePiece)]
    if left_out:
        texts.append(render_prompt("tools/not_attached", reason=f"Ollama takes no documents: {', '.join(left_out)}"))
    images = [piece.content[1] for piece in pieces if isinstance(piece, ImagePiece)]
    return {"role": "user", "content": "\n".join(texts)} | ({"images": images} if images else {})


def _answer(message: AssistantInput) -> JsonDict:
    """The protocol has one thought and one text before all calls."""
    form: dict[str, Any] = {"role": "assistant", "content": message.text}
    if thought := "\n".join(part.text for part in message.thoughts if part.text):
        form["thinking"] = thought
    if message.calls:
        form["tool_calls"] = [
            {"id": call.id, "function": {"name": call.name, "arguments": parse_arguments(call.arguments)}}
            for call in message.calls
        ]
    return form
