"""OpenAI's Responses API: its events as ours.

A text comes in pieces, in pieces and then whole, or only whole (gpt-5.3-codex-spark's calls): what has come is
remembered, and the end of a text or an item adds what is missing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from activities.model.port import Finish, PartDelta, ReasoningDelta, TextDelta, ToolCallDelta
from activities.model.request_json import JsonDict
from activities.model.wires.answer_reader import AnswerReader, require_text
from workflows.domain.usage import ReportedUsage, Terms, unusual

ITEM: Final = "item"  # of reasoning
_INCOMPLETE_FINISHES: Final = {
    "max_output_tokens": Finish.LENGTH,
    "content_filter": Finish.CONTENT_FILTER,
    **dict.fromkeys(("max_messages", "steered"), Finish.PAUSE),  # whole up to there
}
_UNPRICED: Final = frozenset({"code_interpreter_call", "file_search_call", "image_generation_call"})
_CALL: Final = "response.function_call_arguments"
_REFUSAL: Final = "response.refusal"
_REASONING: Final = ("response.reasoning_summary_text", "response.reasoning_text")
_TEXTS: Final = {  # kinds of texts → the member that has one whole, and that of its place in the item
    "response.output_text": ("text", "content_index"),
    _REFUSAL: ("refusal", "content_index"),
    _REASONING[0]: ("text", "summary_index"),
    _REASONING[1]: ("text", "content_index"),
    _CALL: ("arguments", ""),
}


@dataclass(slots=True)
class _Item:
    """What has come of an output item, its texts by kind and place."""

    index: int
    named: bool = False  # a call, whose name has come
    phase: str | None = None  # of a message
    texts: dict[tuple[str, int], list[str]] = field(default_factory=dict)

    def take_name(self) -> bool:
        """Whether a call's name has not come before."""
        first, self.named = not self.named, True
        return first

    def take_phase(self, content: JsonDict) -> None:
        self.phase = self.phase or require_text(content.get("phase"))

    def add(self, kind: str, place: int, text: str) -> str:
        self.texts.setdefault((kind, place), []).append(text)
        return text

    def rest(self, kind: str, place: int, whole: str) -> str:
        """What has not come of a text. Nothing where they differ: what has come is shown already."""
        return self.add(kind, place, _behind("".join(self.texts.get((kind, place), ())), whole))

    def rest_of_all(self, whole: str) -> str:
        """The same of its texts together: some servers miscount their places."""
        return self.add("", 0, _behind("".join(text for texts in self.texts.values() for text in texts), whole))


class ResponsesReader(AnswerReader):
    """Reads one response's events."""

    def __init__(self, provider: str) -> None:
        super().__init__(provider)
        self._items: dict[int | str | None, _Item] = {}  # by index and id: llama.cpp's events lack the index
        self._numbers = count()
        self._calls: set[str | None] = set()  # their ids
        self._refused = False
        self._response: JsonDict = {}  # with all that it has to say

    def events(self, event: Any) -> Iterable[PartDelta]:
        type = event.get("type") or self._without_type(event)
        kind, _, stage = type.rpartition(".")
        if kind in _TEXTS:
            added = self._text(kind, stage, event)
            return (added,) if added else ()
        return self._others(type, event)

    def _others(self, type: str, event: Any) -> Iterator[PartDelta]:
        match type:
            case "response.output_item.added":
                yield from self._added(self._begin(event), event["item"])
            case "response.output_item.done":
                yield from self._whole(self._item(event), event["item"])
            case "response.reasoning_summary_part.added" if self._item(event).texts:
                yield ReasoningDelta("\n\n")
            case "response.completed" | "response.incomplete":
                yield from self._end(event["response"])
            case "response.failed":
                raise self.reported_failure(event["response"].get("error") or {})
            case "error":
                raise self.reported_failure(event.get("error") or event)

    def _without_type(self, event: JsonDict) -> str:
        """A gateway's failure in the form of another protocol, or an empty keep-alive."""
        self.raise_reported(event)
        if event:
            raise LookupError("an event without a type")
        return ""

    def _item(self, event: JsonDict) -> _Item:
        known = self._items.get(event.get("output_index")) or self._items.get(_id(event))
        return known or self._begin(event)

    def _begin(self, event: JsonDict) -> _Item:
        item = _Item(next(self._numbers))
        self._items |= {name: item for name in (event.get("output_index"), _id(event)) if name is not None}
        return item

    def _text(self, kind: str, stage: str, event: JsonDict) -> PartDelta | None:
        item, (member, counter) = self._item(event), _TEXTS[kind]
        place = event.get(counter, 0)
        if stage == "delta":
            text = item.add(kind, place, require_text(event["delta"]) or "")
        else:
            text = item.rest(kind, place, require_text(event.get(member)) or "")
        self._refused = self._refused or kind == _REFUSAL
        if not text:
            return None
        if kind == _CALL:
            return ToolCallDelta(item.index, None, None, text)
        return ReasoningDelta(text) if kind in _REASONING else TextDelta(text, item.index, item.phase)

    def _added(self, item: _Item, content: JsonDict) -> Iterator[PartDelta]:
        """A call may be whole already; all else begins empty."""
        item.take_phase(content)
        if content["type"] == "function_call":
            yield from self._call(item, content)

    def _whole(self, item: _Item, content: JsonDict) -> Iterator[PartDelta]:
        """What is missing of an item that is complete."""
        match content["type"]:
            case "function_call":
                yield from self._call(item, content)
            case "message":
                parts = content.get("content") or ()
                self._refused = self._refused or any("refusal" in part for part in parts)
                texts = (require_text(part.get("text") or part.get("refusal")) or "" for part in parts)
                item.take_phase(content)
                yield TextDelta(item.rest_of_all("".join(texts)), item.index, item.phase)
            case "reasoning":
                yield from self._reasoning(item, content)

    def _call(self, item: _Item, call: JsonDict) -> Iterator[PartDelta]:
        arguments = item.rest(_CALL, 0, require_text(call.get("arguments")) or "")
        if item.take_name():
            id = require_text(call["call_id"])
            self._calls.add(id)
            yield ToolCallDelta(item.index, id, require_text(call["name"]), arguments)
        elif arguments:
            yield ToolCallDelta(item.index, None, None, arguments)

    def _reasoning(self, item: _Item, content: JsonDict) -> Iterator[PartDelta]:
        """Without its encrypted content, reasoning is unreadable to the service."""
        summary = content.get("summary") or []
        if not item.texts:
            parts = summary or content.get("content") or ()
            yield ReasoningDelta("\n\n".join(require_text(part["text"]) or "" for part in parts))
        if content.get("encrypted_content"):
            kept: JsonDict = {name: content[name] for name in ("type", "id", "encrypted_content") if name in content}
            yield ReasoningDelta("", {ITEM: {**kept, "summary": summary}})

    def _end(self, response: JsonDict) -> Iterator[PartDelta]:
        yield from self._unseen(response.get("output") or ())
        self.usage, self._response = response.get("usage"), response
        self.end_as(self._finish(response), (response.get("incomplete_details") or {}).get("reason"))
        self.ended = True

    def _unseen(self, output: Any) -> Iterator[PartDelta]:
        """Some gateways stream only the text of an answer that they have whole, or nothing of it."""
        nothing = not self._items
        for content in output:
            if nothing or (content["type"] == "function_call" and content["call_id"] not in self._calls):
                yield from self._whole(_Item(next(self._numbers)), content)

    def _finish(self, response: JsonDict) -> Finish:
        if self._refused:
            return Finish.CONTENT_FILTER
        if response["status"] == "incomplete":
            details: JsonDict = response.get("incomplete_details") or {}
            return _INCOMPLETE_FINISHES.get(details.get("reason", ""), Finish.UNKNOWN)
        return Finish.TOOL_CALLS if self._calls else Finish.STOP

    def reported_usage(self, usage: Any) -> ReportedUsage:
        details: JsonDict = usage.get("input_tokens_details") or {}
        tools = [each["type"] for each in self._response.get("output") or ()]
        searches: JsonDict = (self._response.get("tool_usage") or {}).get("web_search") or {}
        return ReportedUsage(
            input=usage.get("input_tokens"),
            output=usage.get("output_tokens"),
            total=usage.get("total_tokens"),
            reasoning=(usage.get("output_tokens_details") or {}).get("reasoning_tokens"),
            cache_read=details.get("cached_tokens"),
            cache_write=details.get("cache_write_tokens"),
            terms=Terms(
                service=unusual(self._response.get("service_tier")),
                cache_write_long=(details.get("cache_write_tokens_details") or {}).get("ttl_12h_tokens") or 0,
                searches=searches.get("num_requests", tools.count("web_search_call")),  # not all of them are billed
                unpriced=not _UNPRICED.isdisjoint(tools),
            ),
        )


def _id(event: JsonDict) -> str | None:
    return require_text(event.get("item_id") or event.get("item", {}).get("id"))


def _behind(come: str, whole: str) -> str:
    return whole[len(come) :] if whole.startswith(come) else ""
