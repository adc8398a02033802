"""Google's Gemini: its answers' pieces as our events."""

from collections.abc import Iterable, Iterator
from typing import Any, Final
from uuid import uuid4

from activities.model.port import Finish, PartDelta, ReasoningDelta, TextDelta, ToolCallDelta
from activities.model.wires.answer_reader import AnswerReader, arguments_text, first_choice, require_text
from workflows.domain.usage import ReportedUsage, Terms, unusual

SIGNATURE: Final = "thoughtSignature"
_BLOCKED: Final = (
    *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"),
    *("IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR", "ESCALATION", "PUP_LIMITED_DISABLED"),
)
_FINISHES: Final = {
    "STOP": Finish.STOP,
    "MAX_TOKENS": Finish.LENGTH,
    "CONTINUATION": Finish.LENGTH,
    **dict.fromkeys(_BLOCKED, Finish.CONTENT_FILTER),
}  # any other, as MALFORMED_FUNCTION_CALL, is no end of an answer: ask again


class GeminiReader(AnswerReader):
    """Reads one answer's pieces; each may hold parts of any kind."""

    def __init__(self, provider: str) -> None:
        super().__init__(provider)
        self._calls = 0
        self._searches: set[str] = set()  # what it has asked Google

    def events(self, event: Any) -> list[PartDelta]:
        if not (candidates := event.get("candidates")) or "error" in event:
            self.raise_reported(event, "candidates", "promptFeedback", "usageMetadata")
        self.usage = event.get("usageMetadata") or self.usage
        if (feedback := event.get("promptFeedback")) and feedback.get("blockReason"):
            self.end_as(Finish.CONTENT_FILTER, feedback["blockReason"], feedback.get("blockReasonMessage"))
        candidate = first_choice(candidates)
        if candidate is None:
            return []
        added: list[PartDelta] = []
        for part in (candidate.get("content") or {}).get("parts") or ():
            added += self._part(part)
        if grounding := candidate.get("groundingMetadata"):
            self._searches.update(grounding.get("webSearchQueries") or ())
        if reason := candidate.get("finishReason"):
            self._set_finish(reason, candidate.get("finishMessage"))
        return added

    def _part(self, part: dict[str, Any]) -> Iterable[PartDelta]:
        content = require_text(part.get("text"))
        return (TextDelta(content),) if content and len(part) == 1 else self._other(part, content)

    def _other(self, part: dict[str, Any], content: str | None) -> Iterator[PartDelta]:
        """A signature comes with a call, or with a text, its last piece or an empty one after it."""
        signature = require_text(part.get(SIGNATURE))
        if content:
            yield ReasoningDelta(content) if part.get("thought") else TextDelta(content)
        if call := part.get("functionCall"):
            if signature:
                yield ReasoningDelta("", {SIGNATURE: signature})
            id = require_text(call.get("id")) or f"call_{uuid4().hex[:24]}"
            yield ToolCallDelta(self._calls, id, require_text(call["name"]), arguments_text(call.get("args")))
            self._calls += 1
        elif signature:
            yield ReasoningDelta("", {"text": "", SIGNATURE: signature})

    def _set_finish(self, reason: str, message: Any) -> None:
        finish = _FINISHES.get(reason, Finish.UNKNOWN)
        self.end_as(Finish.TOOL_CALLS if finish is Finish.STOP and self._calls else finish, reason, message)

    def reported_usage(self, usage: Any) -> ReportedUsage:
        thoughts = usage.get("thoughtsTokenCount") or 0
        return ReportedUsage(
            input=(usage.get("promptTokenCount") or 0) + (usage.get("toolUsePromptTokenCount") or 0),
            output=(usage.get("candidatesTokenCount") or 0) + thoughts,
            total=usage.get("totalTokenCount"),
            reasoning=thoughts,
            cache_read=usage.get("cachedContentTokenCount"),
            terms=Terms(
                service=unusual(usage.get("trafficType") or usage.get("serviceTier")),
                input_audio=max(0, _audio(usage, "promptTokensDetails") - _audio(usage, "cacheTokensDetails")),
                cache_read_audio=_audio(usage, "cacheTokensDetails"),
                output_audio=_audio(usage, "candidatesTokensDetails"),
                searches=len(self._searches),
            ),
        )


def _audio(usage: dict[str, Any], details: str) -> int:
    return sum(each.get("tokenCount") or 0 for each in usage.get(details) or () if each.get("modality") == "AUDIO")
