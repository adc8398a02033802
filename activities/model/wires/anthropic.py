"""Anthropic's Messages: its events as ours."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from activities.model.port import Finish, PartDelta, ReasoningDelta, TextDelta, ToolCallDelta
from activities.model.served_work import CONTAINER, is_served
from activities.model.wires.answer_reader import AnswerReader, arguments_text, require_text
from workflows.domain.usage import ReportedUsage, Terms, unusual

_FINISHES: Final = {
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "tool_use": Finish.TOOL_CALLS,
    "max_tokens": Finish.LENGTH,
    "refusal": Finish.CONTENT_FILTER,
    **dict.fromkeys(("pause_turn", "compaction"), Finish.PAUSE),  # in work of the provider's; behind its own summary
}
_CONTEXT_FULL: Final = "model_context_window_exceeded"
_CONTEXT: Final = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
_OWN_ITERATIONS: Final = ("message", "compaction")  # others are another model's


class AnthropicReader(AnswerReader):
    """Reads one message's events."""

    def __init__(self, provider: str) -> None:
        super().__init__(provider)
        self._thoughts: dict[int, dict[str, Any]] = {}
        self._texts: dict[int, str] = {}  # beginnings of texts, which some servers repeat in the first piece
        self._inputs: dict[int, str] = {}  # of begun calls, which some servers send whole, or twice
        self._served: dict[int, dict[str, Any]] = {}

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
                for index in (*self._texts, *self._inputs, *self._served):
                    yield from self._stop(index)
                yield from self._end(event.get("delta") or {})
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
            case _ if is_served(block):
                self._served[index] = dict(block)

    def _delta(self, index: int, delta: dict[str, Any]) -> Iterator[PartDelta]:
        match delta["type"]:
            case "input_json_delta" | "compaction_delta" if index in self._served:
                _add_to(self._served[index], delta)
            case "input_json_delta" if index in self._inputs:
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
        if served := self._served.pop(index, None):
            if isinstance(written := served.get("input"), str):
                served["input"] = json.loads(written or "{}")
            yield ReasoningDelta("", served)
        thought = self._thoughts.pop(index, None)
        if thought and thought["signature"]:
            yield ReasoningDelta("", thought)

    def _add_usage(self, usage: dict[str, Any] | None) -> None:
        """The newest counts are of the whole answer; a server that counts at its start or its end says 0 elsewhere."""
        known = self.usage or {}
        self.usage = known | {name: value for name, value in (usage or {}).items() if value or name not in known}

    def reported_usage(self, usage: Any) -> ReportedUsage:
        """What a compaction on the server took was billed, but is not in the context."""
        billed = usage.get("iterations") or (usage,)
        read, written = _sum(billed, "cache_read_input_tokens"), _sum(billed, "cache_creation_input_tokens")
        output, thoughts = _sum(billed, "output_tokens"), usage.get("output_tokens_details") or {}
        caches = [each.get("cache_creation") or {} for each in billed]
        if not any(caches):
            caches = [usage.get("cache_creation") or {}]
        surcharges = map(unusual, (usage.get("speed"), usage.get("inference_geo")))
        return ReportedUsage(
            input=_sum(billed, "input_tokens") + read + written,
            output=output,
            total=_sum((usage,), *_CONTEXT),
            reasoning=min(thoughts.get("thinking_tokens") or 0, output),
            cache_read=read,
            cache_write=written,
            terms=Terms(
                service=unusual(usage.get("service_tier")),
                surcharges=tuple(filter(None, surcharges)),
                cache_write_long=_sum(caches, "ephemeral_1h_input_tokens"),
                searches=(usage.get("server_tool_use") or {}).get("web_search_requests") or 0,
                unpriced=any(each.get("type", "message") not in _OWN_ITERATIONS for each in billed),
            ),
        )

    def _end(self, delta: dict[str, Any]) -> Iterator[PartDelta]:
        reason, details = delta.get("stop_reason"), delta.get("stop_details") or {}
        if reason == _CONTEXT_FULL:
            message = "The answer has filled the model's context window."
            raise self.failure(message, retryable=False, code="context_length_exceeded")
        if (container := delta.get(CONTAINER)) and reason == "pause_turn":
            yield ReasoningDelta("", {"type": CONTAINER, "id": container["id"]})
        if reason is not None:
            finish = _FINISHES.get(reason, Finish.UNKNOWN)
            self.end_as(finish, details.get("category") or reason, details.get("explanation"))


def _add_to(block: dict[str, Any], delta: dict[str, Any]) -> None:
    """Add to a block that comes in pieces: the input of a call, begun as an object, or a summary."""
    if delta["type"] == "input_json_delta":
        begun = block.get("input")
        block["input"] = (begun if isinstance(begun, str) else "") + (require_text(delta["partial_json"]) or "")
        return
    for name, piece in delta.items():
        if name != "type" and piece is not None:
            block[name] = (block.get(name) or "") + piece


def _sum(counted: Iterable[dict[str, Any]], *names: str) -> int:
    return sum(each.get(name) or 0 for each in counted for name in names)
