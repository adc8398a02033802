"""Anthropic's Messages: its events as ours."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from activities.model.port import Finish, PartDelta, ReasoningDelta, TextDelta, ToolCallDelta
from activities.model.wires.answer_reader import AnswerReader, arguments_text, require_text
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
        self._texts: dict[int, str] = {}  # beginnings of texts, which some servers repeat in the first piece
        self._inputs: dict[int, str] = {}  # of begun calls, which some servers send whole, or twice

    def events(self, event: Any) -> Iterable[PartDelta]:
        if event.get("type") != "content_block_delta":
            return self._others(event)
        index, delta = event["index"], event["delta"]
        if delta["type"] != "text_delta":
            return self._delta(index, delta)
        text = require_text(delta["text"]) or ""
        if (begun := self._texts.pop(index, "")) and not text.startswith(begun):
            text = begun + text
        return (TextDelta(text),)

    def _others(self, event: Any) -> Iterator[PartDelta]:
        match event.get("type"):
            case "content_block_start":
                yield from self._start(event["index"], event["content_block"])
            case "content_block_stop":
                yield from self._stop(event["index"])
            case "message_start":
                self._add_usage((event.get("message") or {}).get("usage"))
            case "message_delta":
                self._add_usage(event.get("usage"))
                for index in (*self._texts, *self._inputs):
                    yield from self._stop(index)
                self._set_finish((event.get("delta") or {}).get("stop_reason"))
            case "message_stop":
                self.ended = True
            case "error":
                raise self.reported_failure(event.get("error") or event)
            case _:
                self.raise_reported(event, "type")

    def _start(self, index: int, block: dict[str, Any]) -> Iterator[PartDelta]:
        match block["type"]:
            case "text":
                self._texts[index] = require_text(block.get("text")) or ""
            case "thinking":
                begun = {name: require_text(block.get(name)) or "" for name in ("thinking", "signature")}
                self._thoughts[index] = {**block, **begun}
                yield ReasoningDelta(begun["thinking"])
            case "redacted_thinking":
                yield ReasoningDelta("", dict(block))
            case "tool_use":
                self._inputs[index] = arguments_text(block.get("input") or "")
                yield ToolCallDelta(index, require_text(block.get("id")), require_text(block["name"]), "")

    def _delta(self, index: int, delta: dict[str, Any]) -> Iterator[PartDelta]:
        match delta["type"]:
            case "input_json_delta" if index in self._inputs:  # others are of calls that the provider carries out
                if piece := require_text(delta["partial_json"]):
                    self._inputs[index] = ""
                    yield ToolCallDelta(index, None, None, piece)
            case "thinking_delta" | "signature_delta":
                name = delta["type"].removesuffix("_delta")
                piece = require_text(delta[name]) or ""
                thought = self._thoughts.setdefault(index, {"type": "thinking", "thinking": "", "signature": ""})
                thought[name] += piece
                if name == "thinking":
                    yield ReasoningDelta(piece)

    def _stop(self, index: int) -> Iterator[PartDelta]:
        """A block of thinking is signed at its end: it must be returned with all of its text."""
        if text := self._texts.pop(index, ""):
            yield TextDelta(text)
        if whole := self._inputs.pop(index, ""):
            yield ToolCallDelta(index, None, None, whole)
        thought = self._thoughts.pop(index, None)
        if thought and thought["signature"]:
            yield ReasoningDelta("", thought)

    def _add_usage(self, usage: dict[str, Any] | None) -> None:
        """The newest counts are of the whole answer; a server that counts at its start or its end says 0 elsewhere."""
        known = self.usage or {}
        counts = {name: n for name, n in (usage or {}).items() if isinstance(n, int) and (n or name not in known)}
        self.usage = known | counts

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
