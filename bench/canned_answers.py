"""A server that sends one answer per wire, in its provider's form, and tells what it was sent last.

python -P -m bench.canned_answers     prints its address
"""

import asyncio
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from aiohttp import web

from activities.model.endpoint import Wire
from tests.providers.event_stream_frames import event_frame

PIECES: Final = 200  # of the answer's text
LAST: Final = "/last"
_TEXT: Final = "A few words. "
_MAX_BYTES: Final = 2**28
_USAGE: Final = {"input_tokens": 9, "output_tokens": 9, "total_tokens": 18}


def _chat() -> Iterable[dict[str, Any]]:
    chunk = {
        **{"id": "chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG", "object": "chat.completion.chunk", "created": 1741570283},
        **{"model": "gpt-4.1-2025-04-14", "service_tier": "default", "system_fingerprint": "fp_fc9f1d7035"},
        **{"usage": None, "obfuscation": "ZKaqV"},
    }
    for _ in range(PIECES):
        yield {**chunk, "choices": [_choice({"content": _TEXT})]}
    yield {**chunk, "choices": [_choice({}, "stop")]}


def _choice(delta: Mapping[str, Any], finish: str | None = None) -> Mapping[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _responses() -> Iterable[dict[str, Any]]:
    response = {
        **{"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": []},
        **{"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "usage": _USAGE},
    }
    place = {"item_id": "msg_67c9fdcf37fc8190ba82116e33fb28c5", "output_index": 0, "content_index": 0}
    piece = {**place, "delta": _TEXT, "logprobs": [], "obfuscation": "ZKaqV"}
    for number in range(PIECES):
        yield {"type": "response.output_text.delta", "sequence_number": number, **piece}
    yield {"type": "response.completed", "sequence_number": PIECES, "response": response}


def _messages() -> Iterable[dict[str, Any]]:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m", "usage": _USAGE}
    yield {"type": "message_start", "message": message}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    for _ in range(PIECES):
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": _TEXT}}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}
    yield {"type": "message_stop"}


def _gemini() -> Iterable[dict[str, Any]]:
    modality = [{"modality": "TEXT", "tokenCount": 9}]
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 9, "totalTokenCount": 18, "promptTokensDetails": modality}
    more = {"usageMetadata": usage, "modelVersion": "gemini-2.5-pro", "responseId": "bWFkZSB1cCBmb3IgdGhpcw"}
    for _ in range(PIECES):
        yield {"candidates": [{"content": {"parts": [{"text": _TEXT}], "role": "model"}, "index": 0}], **more}
    yield {"candidates": [{"content": {"parts": [], "role": "model"}, "finishReason": "STOP", "index": 0}], **more}


def _ollama() -> Iterable[dict[str, Any]]:
    piece = {"model": "qwen3", "created_at": "2025-08-04T08:52:19.385406455-07:00"}
    for _ in range(PIECES):
        yield {**piece, "message": {"role": "assistant", "content": _TEXT}, "done": False}
    counts = {"total_duration": 4883583458, "prompt_eval_count": 9, "eval_count": 9}
    yield {**piece, "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop", **counts}


def _converse() -> bytes:
    """Frames, not events: of AWS's form."""
    frames = [event_frame("messageStart", {"role": "assistant"})]
    frames += [event_frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": _TEXT}})] * PIECES
    frames.append(event_frame("contentBlockStop", {"contentBlockIndex": 0}))
    frames.append(event_frame("messageStop", {"stopReason": "end_turn"}))
    frames.append(event_frame("metadata", {"usage": {"inputTokens": 9, "outputTokens": 9, "totalTokens": 18}}))
    return b"".join(frames)


def _encoded(events: Iterable[dict[str, Any]], *, named: bool = False, end: str = "\n\n") -> bytes:
    """`named`: each behind a line with its type."""
    texts = ((f"event: {event['type']}\n" if named else "", json.dumps(event)) for event in events)
    return "".join(f"{name}data: {data}{end}" for name, data in texts).encode()


ANSWERS: Final[Mapping[Wire, bytes]] = {
    Wire.CHAT: _encoded(_chat()) + b"data: [DONE]\n\n",
    Wire.RESPONSES: _encoded(_responses(), named=True),
    Wire.ANTHROPIC: _encoded(_messages(), named=True),
    Wire.GEMINI: _encoded(_gemini(), end="\r\n\r\n"),
    Wire.OLLAMA: b"".join(json.dumps(line).encode() + b"\n" for line in _ollama()),
    Wire.BEDROCK: _converse(),
    Wire.LITELLM: _encoded(_chat()) + b"data: [DONE]\n\n",
}


async def serve() -> None:
    """Serve until the process ends; the first part of a path names the wire."""
    last = b""

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal last
        last = await request.read()
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        await response.write(ANSWERS[Wire(request.path.split("/")[1])])
        return response

    async def tell(_: web.Request) -> web.Response:
        return web.Response(body=last)

    app = web.Application(client_max_size=_MAX_BYTES)
    app.router.add_get(LAST, tell)
    app.router.add_post("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    print(f"http://{host}:{port}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve())
