"""The usage that each provider bills, by the rules of its cache."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tests.providers.prompt_cache import Bill, Piece, PrefixCache, Usage, count_tokens, encode

# what OpenAI's guide to prompt caching says of "GPT-5.6 and later"
_BREAKPOINTS: Final = re.compile(r"gpt-(5\.([6-9]|\d\d)|[6-9]|\d\d)")
_MINIMUM: Final = 1024  # tokens of a prefix: OpenAI; Claude Sonnet 4.5
_GEMINI_MINIMUM: Final = 4096  # Gemini's Pro models, by Google's guide to context caching
_STEP: Final = 128  # tokens: how OpenAI's models before GPT-5.6 count; where their breakpoints are is not published
_LOOK_BACK: Final = 20  # Anthropic: blocks before a mark; OpenAI: earlier message endings


def anthropic() -> Usage:
    """Marks; a look back of 20 blocks from each (Anthropic's guide to prompt caching)."""
    cache = PrefixCache(_MINIMUM)

    def usage(body: dict[str, Any], output: Sequence[Any]) -> dict[str, Any]:
        bill = cache.bill_marked([*_blocks(body)], _LOOK_BACK)
        return {
            "input_tokens": bill.rest,
            "cache_read_input_tokens": bill.read,
            "cache_creation_input_tokens": bill.written,
            "output_tokens": _written(output),
        }

    return usage


def _blocks(body: dict[str, Any]) -> Iterator[Piece]:
    """Tools, instructions, messages. Another choice of tools or other thinking empties the cache of messages."""
    yield from map(_block, (*body.get("tools", ()), *body.get("system", ())))
    settings = encode([body.get("tool_choice"), body.get("thinking")])
    for message in body["messages"]:
        for block in message["content"]:
            yield _block(block, message["role"], settings)
            settings = b""


def _block(block: dict[str, Any], role: str = "", settings: bytes = b"") -> Piece:
    content = {name: value for name, value in block.items() if name != "cache_control"}
    return Piece(encode([role, content]), "cache_control" in block, settings)


def bedrock() -> Usage:
    """The same for Claude, by blocks of their own for marks (AWS's guide to prompt caching)."""
    cache = PrefixCache(_MINIMUM)

    def usage(body: dict[str, Any], output: Sequence[Any]) -> dict[str, Any]:
        bill = cache.bill_marked([*_converse_blocks(body)], _LOOK_BACK)
        return {
            "inputTokens": bill.rest,
            "cacheReadInputTokens": bill.read,
            "cacheWriteInputTokens": bill.written,
            "outputTokens": _written(output),
            "totalTokens": bill.prompt + _written(output),
        }

    return usage


def _converse_blocks(body: dict[str, Any]) -> Iterator[Piece]:
    tools, thinking = body.get("toolConfig", {}), body.get("additionalModelRequestFields", {}).get("thinking")
    yield from _marked_pieces((*tools.get("tools", ()), *body.get("system", ())))
    yield Piece(b"", settings=encode([tools.get("toolChoice"), thinking]))
    for message in body["messages"]:
        yield from _marked_pieces(message["content"], message["role"])


def _marked_pieces(blocks: Sequence[dict[str, Any]], role: str = "") -> Iterator[Piece]:
    for block, following in zip(blocks, [*blocks[1:], {}], strict=True):
        if "cachePoint" not in block:
            yield Piece(encode([role, block]), "cachePoint" in following)


def openai_chat(cached: str | None = None) -> Usage:
    """Automatic. `cached`: another name for the tokens that were read."""
    cache = PrefixCache(_MINIMUM)

    def usage(body: dict[str, Any], output: Sequence[Any]) -> dict[str, Any]:
        pieces = [Piece(encode(each)) for each in (body.get("tools"), *body["messages"])]
        bill = cache.bill_automatic(pieces, _STEP, body.get("prompt_cache_key", ""))
        return {
            "prompt_tokens": bill.prompt,
            "completion_tokens": _written(output),
            "total_tokens": bill.prompt + _written(output),
            **({cached: bill.read} if cached else {"prompt_tokens_details": {"cached_tokens": bill.read}}),
        }

    return usage


def openrouter() -> Usage:
    """For Claude: Anthropic's marks, in OpenAI's messages."""
    cache = PrefixCache(_MINIMUM)

    def usage(body: dict[str, Any], output: Sequence[Any]) -> dict[str, Any]:
        bill = cache.bill_marked([*_parts(body)], _LOOK_BACK)
        return {
            "prompt_tokens": bill.prompt,
            "completion_tokens": _written(output),
            "total_tokens": bill.prompt + _written(output),
            "prompt_tokens_details": {"cached_tokens": bill.read, "cache_write_tokens": bill.written},
        }

    return usage


def _parts(body: dict[str, Any]) -> Iterator[Piece]:
    """Each tool, each piece of a content, each thought and each call is a block of Anthropic's."""
    yield from map(_block, body.get("tools", ()))
    settings = encode([body.get("tool_choice"), body.get("reasoning")])
    for message in body["messages"]:
        content = message.get("content") or ()
        texts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        id = {"tool_call_id": message["tool_call_id"]} if "tool_call_id" in message else {}
        for part in (*message.get("reasoning_details", ()), *texts, *message.get("tool_calls", ())):
            yield _block({**id, **part}, message["role"], settings)
            settings = b""


def openai_responses() -> Usage:
    """Automatic; from GPT-5.6 on up to the end of a message, for which it charges."""
    cache = PrefixCache(_MINIMUM)

    def bill_of(body: dict[str, Any]) -> Bill:
        head = (body.get("tools"), body.get("instructions"))
        pieces = [Piece(encode(each)) for each in (*head, *body["input"])]
        key = body.get("prompt_cache_key", "")
        if not _BREAKPOINTS.match(body["model"]):
            return cache.bill_automatic(pieces, _STEP, key)
        endings = [number + len(head) for number in _endings(body["input"])]
        return cache.bill_endings(pieces, endings, _LOOK_BACK, key)

    def usage(body: dict[str, Any], output: Sequence[Any]) -> dict[str, Any]:
        bill = bill_of(body)
        return {
            "input_tokens": bill.prompt,
            "input_tokens_details": {"cached_tokens": bill.read, "cache_write_tokens": bill.written},
            "output_tokens": _written(output),
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": bill.prompt + _written(output),
        }

    return usage


def _endings(items: Sequence[dict[str, Any]]) -> Iterator[int]:
    """A person's messages, and the last of results that follow each other."""
    kinds = [item.get("role") or item["type"] for item in items]
    for number, (kind, following) in enumerate(zip(kinds, [*kinds[1:], ""], strict=True)):
        if kind == "user" or (kind == "function_call_output" != following):
            yield number


def gemini() -> Usage:
    """Implicit: Google promises no more than that equal prefixes are often found. Believed: in steps of 64 tokens."""
    cache = PrefixCache(_GEMINI_MINIMUM)

    def usage(body: dict[str, Any], output: Sequence[Any]) -> dict[str, Any]:
        head = (body.get("systemInstruction"), body.get("tools"))
        bill = cache.bill_automatic([Piece(encode(each)) for each in (*head, *body["contents"])], 64)
        return {
            "promptTokenCount": bill.prompt,
            "candidatesTokenCount": _written(output),
            "cachedContentTokenCount": bill.read,
            "totalTokenCount": bill.prompt + _written(output),
        }

    return usage


def _written(output: Sequence[Any]) -> int:
    return count_tokens([vars(each) for each in output])
