"""Plays one scripted answer to one client, with its fault."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, NoReturn

from aiohttp import web

from worker.scripted.request_ledger import OpenRequest, StreamEnd
from worker.scripted.script import (
    Drop,
    Garbage,
    Hold,
    Refuse,
    ScriptedAnswer,
    ScriptedCall,
    ScriptedFault,
    ScriptedUsage,
    Stall,
    StreamError,
    WebPage,
)

_POLL_INTERVAL: Final = 0.01  # seconds between polls
_ChunkDelta = dict[str, Any]


def _answer_chunks(answer: ScriptedAnswer, *, identity: str, model: str, prompt: int) -> Iterator[_ChunkDelta]:
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


def _deltas(answer: ScriptedAnswer, identity: str) -> Iterator[_ChunkDelta]:
    yield {"role": "assistant", "content": ""}
    for piece in _pieces(answer.reasoning, answer.chunk):
        yield {"reasoning_content": piece}
    for piece in _pieces(answer.text, answer.chunk):
        yield {"content": piece}
    calls = [_call(index, call, answer.chunk, identity) for index, call in enumerate(answer.tools)]
    rows = zip_longest(*calls) if answer.interleaved else calls
    yield from (delta for row in rows for delta in row if delta is not None)


def _call(index: int, call: ScriptedCall, length: int, identity: str) -> Iterator[_ChunkDelta]:
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


def _sse_event(data: Any) -> bytes:
    """ASCII JSON, which escapes NUL and lone surrogates."""
    return b"data: " + (data if isinstance(data, str) else json.dumps(data)).encode() + b"\n\n"


class _StreamAborted(Exception):
    """The script ends the answer here."""


@dataclass
class AnswerPlayer:
    """Sets `stalled` on reaching a stall."""

    request: web.Request
    body: Mapping[str, Any]
    open_request: OpenRequest
    answer: ScriptedAnswer
    fault: ScriptedFault | None
    stalled: asyncio.Event

    def __post_init__(self) -> None:
        self.response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})

    async def play(self) -> StreamEnd:
        """A client that leaves cancels it."""
        try:
            await self._apply_fault_at(None)
            await self.response.prepare(self.request)
            await self._send_chunks()
            await self.response.write(_sse_event("[DONE]"))
            await self.response.write_eof()
        except _StreamAborted:
            return StreamEnd.BROKEN
        except ConnectionError:
            return StreamEnd.CLIENT_LEFT
        return StreamEnd.COMPLETE

    async def _send_chunks(self) -> None:
        played = self._chunks()
        for position, chunk in enumerate(played):
            await self._apply_fault_at(position, len(played) - 1)
            await self.response.write(_sse_event(chunk))
            self.open_request.chunks += 1
            if self.answer.delay:
                await asyncio.sleep(self.answer.delay)

    def _chunks(self) -> list[dict[str, Any]]:
        prompt = len(json.dumps(self.body))
        played = list(
            _answer_chunks(self.answer, identity=f"{self.open_request.n}", model=self.body["model"], prompt=prompt)
        )
        wants_usage = (self.body.get("stream_options") or {}).get("include_usage")
        return played if wants_usage else played[:-1]

    async def _apply_fault_at(self, position: int | None, last: int = 0) -> None:
        """One beyond the end comes before the last chunk."""
        fault = self.fault
        if fault is None or isinstance(fault, Refuse | WebPage):
            return
        due_position = None if fault.after is None else min(fault.after, last)
        if due_position == position:
            await self._apply_fault(fault)

    async def _apply_fault(self, fault: Drop | Stall | Garbage | StreamError | Hold) -> None:
        match fault:
            case Drop():
                self._cut()
            case Stall():
                self.stalled.set()
                await asyncio.Event().wait()
            case Garbage():
                await self._end_with(fault.data)
            case StreamError():
                await self._end_with({"error": fault.error})
            case Hold():
                path = Path(fault.path)
                path.with_name(f"{path.name}.reached").touch()
                await wait_for_file(path)

    def _cut(self) -> NoReturn:
        if self.request.transport is not None:
            self.request.transport.abort()
        raise _StreamAborted

    async def _end_with(self, data: Any) -> NoReturn:
        await self.response.write(_sse_event(data))
        await self.response.write_eof()
        raise _StreamAborted


async def wait_for_file(path: Path) -> None:
    """Polls: another process makes the file."""
    exists = False
    while not exists:
        exists = await asyncio.to_thread(path.exists)
        await asyncio.sleep(0 if exists else _POLL_INTERVAL)
