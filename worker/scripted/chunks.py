"""Chunks of an OpenAI-compatible stream."""

import json
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from worker.scripted.script import ScriptedAnswer, ScriptedCall, ScriptedUsage

ChunkDelta = dict[str, Any]


def answer_chunks(answer: ScriptedAnswer, *, identity: str, model: str, prompt: int) -> Iterator[ChunkDelta]:
    """The last has the usage.

    `identity` names the request, for call ids that the script leaves open. `prompt`: its length in characters, to
    estimate tokens.
    """
    head = {"id": f"chatcmpl-{identity}", "object": "chat.completion.chunk", "created": 0, "model": model}
    for delta in _deltas(answer, identity):
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": answer.reason}]}
    usage = answer.usage or _estimate(answer, prompt)
    yield {**head, "choices": [], "usage": _usage(usage), "service_tier": usage.service}


def _deltas(answer: ScriptedAnswer, identity: str) -> Iterator[ChunkDelta]:
    yield {"role": "assistant", "content": ""}
    for piece in _pieces(answer.reasoning, answer.chunk):
        yield {"reasoning_content": piece}
    for piece in _pieces(answer.text, answer.chunk):
        yield {"content": piece}
    calls = [_call(index, call, answer.chunk, identity) for index, call in enumerate(answer.tools)]
    rows = zip_longest(*calls) if answer.interleaved else calls
    yield from (delta for row in rows for delta in row if delta is not None)


def _call(index: int, call: ScriptedCall, length: int, identity: str) -> Iterator[ChunkDelta]:
    name = call.id if call.id is not None else f"call_{identity}_{index}"
    opening = {"index": index, "id": name, "type": "function", "function": {"name": call.name, "arguments": ""}}
    yield {"tool_calls": [opening]}
    for piece in _pieces(call.raw, length):
        yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _pieces(text: str, length: int) -> Iterator[str]:
    return (text[start : start + length] for start in range(0, len(text), length))


def _estimate(answer: ScriptedAnswer, prompt: int) -> ScriptedUsage:
    output_text = answer.text + answer.reasoning + "".join(call.name + call.raw for call in answer.tools)
    return ScriptedUsage(input=prompt // 4, output=len(output_text) // 4, reasoning=len(answer.reasoning) // 4)


def _usage(usage: ScriptedUsage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def sse_event(data: Any) -> bytes:
    """ASCII JSON, which escapes NUL and lone surrogates."""
    return b"data: " + (data if isinstance(data, str) else json.dumps(data)).encode() + b"\n\n"
