"""Google's Gemini: where it is asked, and the pieces of its answers as our events."""

import json
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote
from uuid import uuid4

from activities.model.port import Endpoint, Finish, ModelEvent, ReasoningDelta, TextDelta, ToolCallDelta
from activities.model.wires.reader import Reader, counted, text
from workflows.domain.usage import ReportedUsage

SIGNED: Final = "__thought__"  # between a call's id and the signature of the thought that led to it, as litellm has it
_ADDRESS: Final = "https://generativelanguage.googleapis.com/v1beta"
_BLOCKED: Final = frozenset(
    {"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"}
)
_ENDS: Final = {
    "STOP": Finish.STOP,
    "MAX_TOKENS": Finish.LENGTH,
    **dict.fromkeys(_BLOCKED, Finish.CONTENT_FILTER),
}  # any other one, as MALFORMED_FUNCTION_CALL, is no end of an answer: it is asked for again


def url(endpoint: Endpoint) -> str:
    return f"{endpoint.base_url or _ADDRESS}/models/{quote(endpoint.name)}:streamGenerateContent?alt=sse"


class GeminiReader(Reader):
    """Reads the pieces of one answer; each may hold parts of any kind."""

    def __init__(self, provider: str) -> None:
        super().__init__(provider)
        self._calls = 0

    def events(self, event: Any) -> Iterator[ModelEvent]:
        if error := event.get("error"):
            raise self.reported(error)
        self._used(event.get("usageMetadata"))
        if (event.get("promptFeedback") or {}).get("blockReason"):
            self.end = Finish.CONTENT_FILTER
        for candidate in (event.get("candidates") or ())[:1]:
            for part in (candidate.get("content") or {}).get("parts") or ():
                yield from self._part(part)
            if reason := candidate.get("finishReason"):
                self._ended(reason)

    def _part(self, part: dict[str, Any]) -> Iterator[ModelEvent]:
        if said := text(part.get("text")):
            yield ReasoningDelta(said) if part.get("thought") else TextDelta(said)
        if call := part.get("functionCall"):
            id = call.get("id") or f"call_{uuid4().hex[:24]}"
            signature = part.get("thoughtSignature")
            signed = f"{id}{SIGNED}{signature}" if signature else id
            yield ToolCallDelta(self._calls, signed, text(call["name"]), json.dumps(call.get("args") or {}))
            self._calls += 1

    def _ended(self, reason: str) -> None:
        end = _ENDS.get(reason, Finish.UNKNOWN)
        self.end = Finish.TOOL_CALLS if end is Finish.STOP and self._calls else end

    def _used(self, usage: dict[str, Any] | None) -> None:
        if not usage:
            return
        thoughts = usage.get("thoughtsTokenCount") or 0
        self.tokens = counted(
            ReportedUsage(
                input=(usage.get("promptTokenCount") or 0) + (usage.get("toolUsePromptTokenCount") or 0),
                output=(usage.get("candidatesTokenCount") or 0) + thoughts,
                total=usage.get("totalTokenCount"),
                reasoning=thoughts,
                cache_read=usage.get("cachedContentTokenCount"),
            )
        )
