"""A server that sends one answer per wire, whatever it is asked, and tells what it was sent last.

python -P -m bench.canned_answers     prints its address
"""

import asyncio
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from aiohttp import web

from activities.model.port import Wire
from tests.providers.event_stream_frames import event_frame

PIECES: Final = 200  # of the answer's text
LAST: Final = "/last"
_TEXT: Final = "A few words. "
_MAX_BYTES: Final = 2**28
_USAGE: Final = {"input_tokens": 9, "output_tokens": 9, "total_tokens": 18}


def _chat() -> Iterable[dict[str, Any]]:
    for _ in range(PIECES):
        yield {"choices": [{"index": 0, "delta": {"content": _TEXT}}]}
    yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def _responses() -> Iterable[dict[str, Any]]:
    response = {
        **{"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": []},
        **{"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "usage": _USAGE},
    }
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    for number in range(PIECES):
        yield {"type": "response.output_text.delta", "sequence_number": number, **place, "delta": _TEXT, "logprobs": []}
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
    for _ in range(PIECES):
        yield {"candidates": [{"content": {"role": "model", "parts": [{"text": _TEXT}]}}]}
    yield {"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 18}}


def _ollama() -> Iterable[dict[str, Any]]:
    for _ in range(PIECES):
        yield {"model": "m", "message": {"role": "assistant", "content": _TEXT}, "done": False}
    yield {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}


def _converse() -> bytes:
    """Frames, not events: of AWS's form."""
    frames = [event_frame("messageStart", {"role": "assistant"})]
    frames += [event_frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": _TEXT}})] * PIECES
    frames.append(event_frame("contentBlockStop", {"contentBlockIndex": 0}))
    frames.append(event_frame("messageStop", {"stopReason": "end_turn"}))
    frames.append(event_frame("metadata", {"usage": {"inputTokens": 9, "outputTokens": 9, "totalTokens": 18}}))
    return b"".join(frames)


def _encoded(events: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in events)


ANSWERS: Final[Mapping[Wire, bytes]] = {
    Wire.CHAT: _encoded(_chat()) + b"data: [DONE]\n\n",
    Wire.RESPONSES: _encoded(_responses()),
    Wire.ANTHROPIC: _encoded(_messages()),
    Wire.GEMINI: _encoded(_gemini()),
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
