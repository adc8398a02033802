"""Anthropic's Messages: its events as ours."""

import json
from collections.abc import Iterator
from typing import Any, Final

from activities.model.port import Finish, PartDelta, ReasoningDelta, TextDelta, ToolCallDelta
from activities.model.wires.answer_reader import AnswerReader, require_text
from workflows.domain.usage import ReportedUsage

_FINISHES: Final = {
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "tool_use": Finish.TOOL_CALLS,
    "max_tokens": Finish.LENGTH,
    "refusal": Finish.CONTENT_FILTER,
}
_CONTEXT_FULL: Final = "model_context_window_exceeded"


class AnthropicReader(AnswerReader):
    """Reads one message's events."""

    def __init__(self, provider: str) -> None:
        super().__init__(provider)
        self._thoughts: dict[int, dict[str, Any]] = {}

    def events(self, event: Any) -> Iterator[PartDelta]:
        self.raise_reported(event, "type")
        match event.get("type"):
            case "content_block_start":
                yield from self._start(event["index"], event["content_block"])
            case "content_block_delta":
                yield from self._delta(event["index"], event["delta"])
            case "content_block_stop":
                yield from self._stop(event["index"])
            case "message_start":
                self._add_usage(event["message"].get("usage"))
            case "message_delta":
                self._add_usage(event.get("usage"))
                self._set_finish(event["delta"].get("stop_reason"))
            case "message_stop":
                self.ended = True
            case "error":
                raise self.reported_failure(event)

    def _start(self, index: int, block: dict[str, Any]) -> Iterator[PartDelta]:
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
                yield ToolCallDelta(index, require_text(block["id"]), require_text(block["name"]), whole)

    def _delta(self, index: int, delta: dict[str, Any]) -> Iterator[PartDelta]:
        match delta["type"]:
            case "text_delta":
                yield TextDelta(require_text(delta["text"]) or "")
            case "input_json_delta":
                yield ToolCallDelta(index, None, None, require_text(delta["partial_json"]) or "")
            case "thinking_delta":
                self._thoughts[index]["thinking"] += delta["thinking"]
                yield ReasoningDelta(delta["thinking"])
            case "signature_delta":
                self._thoughts[index]["signature"] += delta["signature"]

    def _stop(self, index: int) -> Iterator[PartDelta]:
        """A block of thinking is signed at its end: it must be returned with all of its text."""
        thought = self._thoughts.pop(index, None)
        if thought and thought["signature"]:
            yield ReasoningDelta("", thought)

    def _add_usage(self, usage: dict[str, Any] | None) -> None:
        self.usage = {**(self.usage or {}), **{name: n for name, n in (usage or {}).items() if isinstance(n, int)}}

    def reported_usage(self, usage: Any) -> ReportedUsage:
        read, written = (usage.get(f"cache_{kind}_input_tokens", 0) for kind in ("read", "creation"))
        prompt, answer = usage.get("input_tokens", 0) + read + written, usage.get("output_tokens", 0)
        return ReportedUsage(input=prompt, output=answer, total=prompt + answer, cache_read=read, cache_write=written)

    def _set_finish(self, reason: str | None) -> None:
        if reason == _CONTEXT_FULL:
            message = "The answer has filled the model's context window."
            raise self.failure(message, retryable=False, code="context_length_exceeded")
        if reason is not None:
            self.finish_reason = _FINISHES.get(reason, Finish.UNKNOWN)
