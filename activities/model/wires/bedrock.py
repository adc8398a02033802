"""Bedrock's ConverseStream: its events as ours."""

from collections.abc import Iterator
from typing import Any, Final

from activities.model.failures import object_message, original_status
from activities.model.port import Finish, PartDelta, ReasoningDelta, TextDelta, ToolCallDelta
from activities.model.wires.answer_reader import AnswerReader, require_text
from workflows.domain.errors import ModelError
from workflows.domain.usage import ReportedUsage, Terms, unusual

REASONING: Final = "reasoningContent"
_FINISHES: Final = {  # malformed_model_output, malformed_tool_use: unknown ones
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "tool_use": Finish.TOOL_CALLS,
    "max_tokens": Finish.LENGTH,
    "content_filtered": Finish.CONTENT_FILTER,
    "guardrail_intervened": Finish.CONTENT_FILTER,
    "refusal": Finish.CONTENT_FILTER,  # Anthropic's word, which the service's model lacks
}
_CONTEXT_FULL: Final = "model_context_window_exceeded"
_CARRIED_OUT: Final = "server_tool_use"
_LASTING: Final = frozenset({"ValidationException", "AccessDeniedException", "ResourceNotFoundException"})


class ConverseReader(AnswerReader):
    """Reads one message's events."""

    def __init__(self, provider: str) -> None:
        super().__init__(provider)
        self._thoughts: dict[int, dict[str, str]] = {}
        self._calls: set[int] = set()  # not those that the service carries out
        self._served: dict[str, Any] = {}  # what says how

    def events(self, event: Any) -> Iterator[PartDelta]:
        for name, content in event.items():
            match name:
                case "contentBlockDelta":
                    yield from self._delta(content["contentBlockIndex"], content["delta"])
                case "contentBlockStart":
                    yield from self._start(content["contentBlockIndex"], content["start"])
                case "contentBlockStop":
                    yield from self._stop(content["contentBlockIndex"])
                case "messageStop":
                    self._set_finish(content["stopReason"])
                case "metadata":
                    self.usage, self._served = content["usage"], content
                    self.ended = self.finish_reason is not None
                case "failure":
                    raise self._reported(*content)

    def _start(self, index: int, start: dict[str, Any]) -> Iterator[PartDelta]:
        if (call := start.get("toolUse")) and call.get("type") != _CARRIED_OUT:
            self._calls.add(index)
            yield ToolCallDelta(index, require_text(call["toolUseId"]), require_text(call["name"]), "")

    def _delta(self, index: int, delta: dict[str, Any]) -> Iterator[PartDelta]:
        if "text" in delta:
            yield TextDelta(require_text(delta["text"]) or "")
        elif (call := delta.get("toolUse")) and index in self._calls:
            yield ToolCallDelta(index, None, None, require_text(call["input"]) or "")
        elif thought := delta.get(REASONING):
            yield from self._thought(index, thought)

    def _thought(self, index: int, thought: dict[str, Any]) -> Iterator[PartDelta]:
        if encrypted := thought.get("redactedContent"):
            yield ReasoningDelta("", {REASONING: {"redactedContent": encrypted}})
            return
        known = self._thoughts.setdefault(index, {"text": "", "signature": ""})
        for member in known:
            known[member] += require_text(thought.get(member)) or ""
        if text := thought.get("text"):
            yield ReasoningDelta(text)

    def _stop(self, index: int) -> Iterator[PartDelta]:
        """A thought is signed at its end: it must be returned with all of its text."""
        thought = self._thoughts.pop(index, None)
        if thought and thought["signature"]:
            yield ReasoningDelta("", {REASONING: {"reasoningText": dict(thought)}})

    def reported_usage(self, usage: Any) -> ReportedUsage:
        read, written = (usage.get(f"cache{kind}InputTokens") or 0 for kind in ("Read", "Write"))
        prompt, answer = usage["inputTokens"] + read + written, usage["outputTokens"]
        latency = unusual((self._served.get("performanceConfig") or {}).get("latency"))
        long = (each["inputTokens"] for each in usage.get("cacheDetails") or () if each["ttl"] != "5m")
        return ReportedUsage(
            input=prompt,
            output=answer,
            total=prompt + answer,
            cache_read=read,
            cache_write=written,
            terms=Terms(
                service=unusual((self._served.get("serviceTier") or {}).get("type")),
                surcharges=(latency,) if latency else (),
                cache_write_long=sum(long),
            ),
        )

    def _set_finish(self, reason: str) -> None:
        if reason == _CONTEXT_FULL:
            message = "The answer has filled the model's context window."
            raise self.failure(message, retryable=False, code="context_length_exceeded")
        self.end_as(_FINISHES.get(reason, Finish.UNKNOWN), reason)

    def _reported(self, details: dict[str, Any], content: dict[str, Any]) -> ModelError:
        code, status = details["code"], original_status(content)
        message = details["message"] or object_message(content) or code
        retryable = status is None and code not in _LASTING
        return self.failure(message, retryable=retryable, code=code, status=status, body=f"{code}: {message}")
