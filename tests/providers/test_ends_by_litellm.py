"""How answers end on the wires that go through litellm: each end is told for what it is, and a cut one is no answer."""

import json
from typing import Any

import pytest
from aiohttp import web

from activities.model.failures import ModelError, Retry, posture
from activities.model.port import Finish, Wire
from activities.model.stream import TextPart
from activities.model.wires.router import WireRouter
from tests.providers.asking import answered, request
from tests.providers.playing import Cut, Double, Play, event, playing

CHAT = (
    "mistral/mistral-large-latest",
    "groq/llama-3.3-70b-versatile",
    "openrouter/openai/gpt-4o",
    "deepseek/deepseek-chat",
    "xai/grok-4",
    "moonshot/kimi-k2",
)
OLLAMA = "ollama_chat/llama3.1"
DONE = b"data: [DONE]\n\n"
ALIVE = b": OPENROUTER PROCESSING\n\n"
ENDS = {"stop": Finish.STOP, "length": Finish.LENGTH, "content_filter": Finish.CONTENT_FILTER}


def piece(text: str | None = None, finish: str | None = None) -> bytes:
    """A piece of an answer of OpenAI's chat protocol."""
    delta = {"role": "assistant", "content": text} if text else {}
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return event({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]})


def line(text: str = "", **end: Any) -> bytes:
    """A line of Ollama's."""
    said = {
        "model": "llama3.1",
        "created_at": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": text},
    }
    return (json.dumps({**said, "done": bool(end), **end}) + "\n").encode()


def plays(*pieces: bytes | Cut, kind: str = "text/event-stream") -> Double:
    def check(request: web.Request, body: dict[str, Any]) -> Play:
        return pieces

    return Double(check, kind=kind)


def native(*pieces: bytes | Cut) -> Double:
    return plays(*pieces, kind="application/x-ndjson")


async def ended(port: WireRouter, model: str, double: Double) -> tuple[Finish, tuple[object, ...]]:
    async with playing(double):
        answer = await answered(port, request(Wire.LITELLM, model, double.url, "k"))
    return answer.finish, answer.parts


async def failed(port: WireRouter, model: str, double: Double) -> Retry:
    async with playing(double):
        with pytest.raises(ModelError) as caught:
            await answered(port, request(Wire.LITELLM, model, double.url, "k"))
    stance = posture(caught.value.failure)
    assert isinstance(stance, Retry)
    return stance


@pytest.mark.parametrize("model", CHAT)
@pytest.mark.parametrize("reason", ENDS)
async def test_the_end_is_what_the_provider_said(port: WireRouter, model: str, reason: str) -> None:
    double = plays(ALIVE, piece("Hi"), ALIVE, piece(finish=reason), DONE)

    assert await ended(port, model, double) == (ENDS[reason], (TextPart("Hi"),))


@pytest.mark.parametrize("model", CHAT)
@pytest.mark.parametrize("clean", [True, False])
async def test_an_answer_without_an_end_is_asked_for_again(port: WireRouter, model: str, clean: bool) -> None:
    await failed(port, model, plays(piece("Half a te"), Cut(clean)))


@pytest.mark.parametrize("model", CHAT)
async def test_an_error_in_the_middle_is_no_end(port: WireRouter, model: str) -> None:
    error = event({"error": {"message": "The server is overloaded", "type": "server_error", "code": 503}})

    await failed(port, model, plays(piece("Half a te"), error))


@pytest.mark.parametrize(("reason", "finish"), [("stop", Finish.STOP), ("length", Finish.LENGTH)])
async def test_the_end_is_what_ollama_said(port: WireRouter, reason: str, finish: Finish) -> None:
    double = native(line("Hi"), line(done_reason=reason, eval_count=1, prompt_eval_count=2))

    assert await ended(port, OLLAMA, double) == (finish, (TextPart("Hi"),))


@pytest.mark.parametrize("clean", [True, False])
async def test_an_answer_of_ollama_without_an_end_is_asked_for_again(port: WireRouter, clean: bool) -> None:
    await failed(port, OLLAMA, native(line("Half a te"), Cut(clean)))
