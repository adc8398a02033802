"""Ollama's answers as our events."""

from typing import Any, Final
from uuid import uuid4

from activities.model.port import Finish, PartDelta, ReasoningDelta, TextDelta, ToolCallDelta
from activities.model.wires.answer_reader import AnswerReader, arguments_text, require_text
from workflows.domain.usage import ReportedUsage

_FINISHES: Final = {"stop": Finish.STOP, "length": Finish.LENGTH}  # any other, as "load", ends no answer: ask again


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
