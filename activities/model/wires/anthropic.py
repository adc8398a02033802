"""Anthropic's Messages: where it is asked, which parts of a request are cached, and its events as ours."""

import json
from collections.abc import Iterator
from typing import Any, Final

from activities.model.port import Endpoint, Finish, ModelEvent, ReasoningDelta, TextDelta, ToolCallDelta
from activities.model.wires.reader import Reader, counted, text
from workflows.domain.usage import ReportedUsage

_ADDRESS: Final = "https://api.anthropic.com"
_MARK: Final = {"type": "ephemeral"}
_ENDS: Final = {
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "tool_use": Finish.TOOL_CALLS,
    "max_tokens": Finish.LENGTH,
    "refusal": Finish.CONTENT_FILTER,
}
_FULL: Final = "model_context_window_exceeded"


def url(endpoint: Endpoint) -> str:
    return f"{endpoint.base_url or _ADDRESS}/v1/messages"


def marked(body: dict[str, Any]) -> dict[str, Any]:
    """The body with marks at the end of what the next request begins with: the instructions, and the conversation."""
    last = body["messages"][-1]["content"] if body["messages"] else None
    for blocks in (body.get("system"), last):
        if isinstance(blocks, list) and blocks and blocks[-1].get("text") != "":
            blocks[-1] = {**blocks[-1], "cache_control": _MARK}
    return body


class AnthropicReader(Reader):
    """Reads the events of one message."""

    def __init__(self, provider: str) -> None:
        super().__init__(provider)
        self._usage: dict[str, Any] = {}
        self._thoughts: dict[int, dict[str, Any]] = {}

    def events(self, event: Any) -> Iterator[ModelEvent]:
        match event["type"]:
            case "content_block_start":
                yield from self._start(event["index"], event["content_block"])
            case "content_block_delta":
                yield from self._delta(event["index"], event["delta"])
            case "content_block_stop":
                yield from self._stop(event["index"])
            case "message_start":
                self._used(event["message"].get("usage"))
            case "message_delta":
                self._used(event.get("usage"))
                self._ended(event["delta"].get("stop_reason"))
            case "error":
                raise self.reported(event["error"])

    def _start(self, index: int, block: dict[str, Any]) -> Iterator[ModelEvent]:
        match block["type"]:
            case "text" if block["text"]:
                yield TextDelta(block["text"])
            case "thinking":
                self._thoughts[index] = {**block, "signature": block.get("signature", "")}
                yield ReasoningDelta(block["thinking"])
            case "redacted_thinking":
                yield ReasoningDelta("", dict(block))
            case "tool_use":
                whole = json.dumps(block["input"]) if block.get("input") else ""
                yield ToolCallDelta(index, text(block["id"]), text(block["name"]), whole)

    def _delta(self, index: int, delta: dict[str, Any]) -> Iterator[ModelEvent]:
        match delta["type"]:
            case "text_delta":
                yield TextDelta(text(delta["text"]) or "")
            case "input_json_delta":
                yield ToolCallDelta(index, None, None, text(delta["partial_json"]) or "")
            case "thinking_delta":
                self._thoughts[index]["thinking"] += delta["thinking"]
                yield ReasoningDelta(delta["thinking"])
            case "signature_delta":
                self._thoughts[index]["signature"] += delta["signature"]

    def _stop(self, index: int) -> Iterator[ModelEvent]:
        """A block of thinking is signed at its end: it has to be given back with all of its text."""
        thought = self._thoughts.pop(index, None)
        if thought and thought["signature"]:
            yield ReasoningDelta("", thought)

    def _used(self, usage: dict[str, Any] | None) -> None:
        self._usage |= {name: count for name, count in (usage or {}).items() if isinstance(count, int)}
        read, written = (self._usage.get(f"cache_{kind}_input_tokens", 0) for kind in ("read", "creation"))
        prompt, said = self._usage.get("input_tokens", 0) + read + written, self._usage.get("output_tokens", 0)
        self.tokens = counted(
            ReportedUsage(input=prompt, output=said, total=prompt + said, cache_read=read, cache_write=written)
        )

    def _ended(self, reason: str | None) -> None:
        if reason == _FULL:
            said = "The answer has filled the model's context window."
            raise self.failure(said, retryable=False, code="context_length_exceeded")
        if reason is not None:
            self.end = _ENDS.get(reason, Finish.UNKNOWN)
