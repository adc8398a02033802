"""OpenAI's chat completions, as it and many others send them: their chunks as our events."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from activities.model.chat_format import CALL_EXTRA, CHUNK, DETAIL, FIELD, REASONING, THINK_END, THINK_TAG
from activities.model.port import Finish, PartDelta, ReasoningDelta, TextDelta, ToolCallDelta
from activities.model.request_json import JsonDict
from activities.model.wires.answer_reader import AnswerReader, arguments_text, first_choice, require_text
from workflows.domain.usage import ReportedUsage, Terms, unusual

_FINISHES: Final = {  # in any case
    **dict.fromkeys(("stop", "eos", "eos_token", "end"), Finish.STOP),  # Together; text-generation-inference; gateways
    **dict.fromkeys(("end_turn", "stop_sequence", "complete"), Finish.STOP),  # Anthropic, Cohere behind gateways
    "tool_use": Finish.TOOL_CALLS,
    "max_tokens": Finish.LENGTH,
    "tool_calls": Finish.TOOL_CALLS,
    "tool-calls": Finish.TOOL_CALLS,
    "function_call": Finish.TOOL_CALLS,
    "length": Finish.LENGTH,
    "model_length": Finish.LENGTH,  # Mistral
    "content_filter": Finish.CONTENT_FILTER,
    "content-filter": Finish.CONTENT_FILTER,
    "sensitive": Finish.CONTENT_FILTER,  # Z.ai
}
_NATIVE_FINISHES: Final = {  # `native_finish_reason` of OpenRouter, where it says more than `finish_reason`
    **dict.fromkeys(("refusal", "SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "RECITATION"), Finish.CONTENT_FILTER),
    **dict.fromkeys(("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"), Finish.UNKNOWN),
}
_BROKEN_OFF: Final = ("error", "network_error", "insufficient_system_resource")  # OpenRouter; Z.ai; DeepSeek
_CONTEXT_FULL: Final = "model_context_window_exceeded"  # Z.ai, and Claude behind gateways
_SELDOM: Final = ("error", "base_resp", "x_groq")  # members besides choices that may report an error
_TEXT_ALONE: Final = frozenset({"role", "content"})
_JOINED: Final = ("text", "summary")  # members of a detail of reasoning that come in pieces
_ENCRYPTED: Final = "data"  # comes whole


class ThinkTags:
    """Takes an answer's text piece by piece. Only tags at its very beginning count.

    `behind`: all that comes is text.
    """

    def __init__(self) -> None:
        self.behind = False
        self._within_tags = False
        self._space: list[str] = []  # before a tag, if one comes
        self._held = ""  # may be the beginning of a tag

    def feed(self, piece: str) -> Iterator[PartDelta]:
        if self.behind:
            yield TextDelta(piece)
            return
        text, self._held = self._held + piece, ""
        if not self._within_tags:
            begun = text.lstrip()
            self._space.append(text[: len(text) - len(begun)])
            if THINK_TAG.startswith(begun):
                self._held = begun
                return
            if not begun.startswith(THINK_TAG):
                self.behind = True
                yield TextDelta("".join(self._space) + begun)
                return
            self._within_tags, text = True, begun.removeprefix(THINK_TAG)
            yield ReasoningDelta("", {FIELD: THINK_TAG})
        yield from self._within(text)

    def _within(self, text: str) -> Iterator[PartDelta]:
        thought, end, rest = text.partition(THINK_END)
        if end:
            self.behind = True
        else:
            kept = next(size for size in range(len(THINK_END) - 1, -1, -1) if text.endswith(THINK_END[:size]))
            thought, self._held = text[: len(text) - kept], text[len(text) - kept :]
        if thought:
            yield ReasoningDelta(thought)
        if rest:
            yield TextDelta(rest)

    def end(self) -> Iterator[PartDelta]:
        """The text that was held back, once no more of it can come."""
        held, self._held = self._held, ""
        if self._within_tags and held:
            yield ReasoningDelta(held)
        elif not self.behind and (text := "".join(self._space) + held):
            yield TextDelta(text)


class ChatReader(AnswerReader):
    """Reads one answer's chunks."""

    def __init__(self, provider: str) -> None:
        super().__init__(provider)
        self._thought: list[str] = []
        self._field: str | None = None
        self._detail: JsonDict | None = None  # of reasoning, unfinished
        self._tags = ThinkTags()
        self._refused = False
        self._call = 0  # the newest one's index
        self._service: Any = None  # the tier that served the answer

    def events(self, event: Any) -> Iterable[PartDelta]:
        if not (choices := event.get("choices")) or not event.keys().isdisjoint(_SELDOM):
            self._raise_error(event)
        if usage := event.get("usage"):
            self.usage, self._service = usage, event.get("service_tier")
        choice = first_choice(choices)
        return self._choice(choice) if choice else ()  # some end with a chunk of tokens alone

    def _raise_error(self, event: JsonDict) -> None:
        self.raise_reported(event, "choices")
        if groq := event.get("x_groq"):
            self.raise_reported(groq)
        if event.get("object") == "error":  # Mistral, whose message may be an object
            raise self.reported_failure(event)

    def _choice(self, choice: JsonDict) -> Iterable[PartDelta]:
        if error := choice.get("error"):  # OpenRouter
            raise self.reported_failure(error)
        if usage := choice.get("usage"):  # Moonshot
            self.usage = usage
        delta, reason = choice.get("delta") or self._whole(choice), choice.get("finish_reason")  # null is nothing, too
        return self._end(delta, reason, choice.get("native_finish_reason")) if reason else self._delta(delta)

    def _whole(self, choice: JsonDict) -> JsonDict:
        """The complete message of a server that does not stream; streaming ones may repeat all in it."""
        return (None if self.begun else choice.get("message")) or {}

    def end(self) -> Iterable[PartDelta]:
        """`[DONE]` is the protocol's own end: some servers and proxies name no reason before it."""
        return self._end({}, "stop", None) if self.begun else ()

    def _end(self, delta: JsonDict, reason: str, native: str | None) -> Iterator[PartDelta]:
        yield from self._delta(delta)
        yield from self._end_reasoning()
        yield from self._tags.end()
        self._set_finish(reason, native)

    def _set_finish(self, reason: str, native: str | None) -> None:
        if _CONTEXT_FULL in (reason, native):
            message = "The answer has filled the model's context window."
            raise self.failure(message, retryable=False, code="context_length_exceeded")
        if reason in _BROKEN_OFF:
            raise self.failure(f"The provider broke the answer off ({native or reason}).", retryable=True)
        finish = _NATIVE_FINISHES.get(native or "") or _FINISHES.get(reason.lower(), Finish.UNKNOWN)
        self.end_as(Finish.CONTENT_FILTER if self._refused else finish, native or reason)

    def reported_usage(self, usage: Any) -> ReportedUsage:
        prompt = usage.get("prompt_tokens_details") or {}
        completion = usage.get("completion_tokens_details") or {}
        input, output, total = usage["prompt_tokens"], usage["completion_tokens"], usage.get("total_tokens")
        reasoning = completion.get("reasoning_tokens")
        if reasoning and total == input + output + reasoning:  # xAI
            output += reasoning
        return ReportedUsage(
            input=input,
            output=output,
            total=total,
            reasoning=reasoning,
            cache_read=prompt.get("cached_tokens")
            or usage.get("prompt_cache_hit_tokens")  # DeepSeek
            or usage.get("cached_tokens")  # Moonshot
            or usage.get("cache_read_input_tokens"),  # Anthropic's name, behind proxies
            cache_write=prompt.get("cache_creation_tokens")
            or prompt.get("cache_write_tokens")  # OpenRouter
            or usage.get("cache_creation_input_tokens"),
            terms=Terms(
                service=unusual(self._service),
                input_audio=prompt.get("audio_tokens") or 0,
                output_audio=completion.get("audio_tokens") or 0,
            ),
        )

    def _delta(self, delta: JsonDict) -> Iterable[PartDelta]:
        content = delta.get("content")
        if delta.keys() <= _TEXT_ALONE and isinstance(content, str) and self._tags.behind and self._detail is None:
            return (TextDelta(content),)  # nearly all of an answer
        return self._parts(delta, content)

    def _parts(self, delta: JsonDict, content: Any) -> Iterator[PartDelta]:
        thought = next(filter(delta.get, REASONING), None)
        if thought and (text := require_text(delta[thought])):
            self._thought.append(text)
            yield self._thinking(text, thought)
        for detail in delta.get(DETAIL) or ():
            yield from self._add_detail(detail)
            if thought is None:  # MiniMax
                yield ReasoningDelta(next((detail[name] for name in _JOINED if detail.get(name)), ""))
        if blocks := delta.get("thinking_blocks"):
            yield from self._blocks(blocks)
        if content:
            yield from self._content(content, thought=bool(thought))
        if refusal := delta.get("refusal"):
            self._refused = True
            yield from self._tags.feed(require_text(refusal) or "")
        for call in delta.get("tool_calls") or _older_calls(delta):
            yield from self._end_reasoning()
            yield from self._tags.end()
            yield from self._call_piece(call)

    def _content(self, content: Any, *, thought: bool) -> Iterator[PartDelta]:
        if self._detail is not None:
            yield from self._end_reasoning()
        for added in self._tags.feed(content) if isinstance(content, str) else self._chunks(content):
            if not (thought and isinstance(added, ReasoningDelta) and added.text):  # MiniMax has it in both members
                yield added

    def _call_piece(self, call: JsonDict) -> Iterator[PartDelta]:
        """Some endpoints send the arguments as an object, and pieces without a function or without an index."""
        if extra := call.get(CALL_EXTRA):
            yield ReasoningDelta("", {CALL_EXTRA: extra})
        function = call.get("function") or {}
        index, arguments = call.get("index"), function.get("arguments")
        self._call = self._call if index in (None, "") else int(index)
        id, name = require_text(call.get("id")), require_text(function.get("name"))
        yield ToolCallDelta(self._call, id, name, "" if arguments is None else arguments_text(arguments))

    def _chunks(self, content: list[JsonDict]) -> Iterator[PartDelta]:
        """Mistral may send a list of them."""
        for chunk in content:
            match chunk["type"]:
                case "text":
                    yield from self._tags.feed(require_text(chunk["text"]) or "")
                case "thinking":
                    text = "".join(each.get("text", "") for each in chunk["thinking"])
                    signed = {"signature": chunk["signature"]} if chunk.get("signature") else {}
                    yield self._thinking(text, CHUNK, signed)

    def _thinking(self, text: str, field: str, more: JsonDict | None = None) -> ReasoningDelta:
        """Reasoning of another name than the usual one goes back under its own: some providers refuse the other."""
        unusual = field != REASONING[0] and self._field != field
        self._field = field
        return ReasoningDelta(text, {FIELD: field, **(more or {})} if unusual or more else None)

    def _add_detail(self, detail: JsonDict) -> Iterator[PartDelta]:
        """Its pieces become one: it goes back as a whole."""
        whole = self._detail
        if whole is None or _identity(whole) != _identity(detail) or _ENCRYPTED in detail:
            yield from self._end_reasoning()
            self._detail = dict(detail)
            return
        for name, value in detail.items():
            if value is not None:
                whole[name] = (whole.get(name) or "") + value if name in _JOINED else value

    def _end_reasoning(self) -> Iterator[PartDelta]:
        if self._detail is not None:
            yield ReasoningDelta("", {DETAIL: self._detail})
            self._detail = None

    def _blocks(self, blocks: Any) -> Iterator[PartDelta]:
        """litellm's, of Claude, who signs a block of thinking at its end: it is returned with all of its text."""
        for block in blocks:
            if block.get("signature"):
                whole = {"type": "thinking", "thinking": "".join(self._thought), "signature": block["signature"]}
                self._thought.clear()
                yield ReasoningDelta("", whole)
            elif block.get("type") == "redacted_thinking":
                yield ReasoningDelta("", dict(block))


def _older_calls(delta: JsonDict) -> list[JsonDict]:
    """Some servers end each answer with an empty one."""
    call = delta.get("function_call")
    return [{"function": call}] if call and any(call.values()) else []


def _identity(detail: JsonDict) -> tuple[Any, Any]:
    return detail.get("type"), detail.get("index")
