"""Silence is measured in bytes received, on every wire of ours: a keep-alive is life, nothing is not."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from activities.model.failures import ModelError, Retry, posture
from activities.model.port import ModelRequest, Wire
from activities.model.stream import TextPart
from activities.model.wires.router import WireRouter
from activities.model.wires.silence import Silence
from tests.providers import anthropic_messages as messages
from tests.providers import google_gemini as google
from tests.providers import openai_responses as responses
from tests.providers.asking import answered, request
from tests.providers.playing import Double, Pause, Play, event, playing

LIMIT = 1.0  # seconds
NOW = Pause(0)
LIFE = LIMIT * 0.4
COMMENT = b": still thinking\n\n"


@dataclass(frozen=True)
class Spoken:
    """A wire, and how its provider plays pieces around an answer of one word."""

    wire: Wire
    model: str
    key: str
    path: str
    double: Callable[[Play], Double]
    alive: bytes = COMMENT


def chat(pieces: Play, before: Pause = NOW) -> Double:
    def chunk(delta: dict[str, Any], end: str | None = None) -> bytes:
        return event({"object": "chat.completion.chunk", "choices": [{"delta": delta, "finish_reason": end}]})

    said = (before, chunk({"role": "assistant"}), *pieces, chunk({"content": "Hello"}), *pieces, chunk({}, "stop"))
    return Double(lambda *_: said)


def around(pieces: Play, text: Any) -> Any:
    return (*pieces, text, *pieces)


WIRES = (
    Spoken(Wire.CHAT, "openai/m", "k", "/v1", chat, event({"choices": [{"delta": {"role": "assistant"}}]})),
    Spoken(Wire.CHAT, "openai/m", "k", "/v1", chat),
    Spoken(
        Wire.RESPONSES,
        "openai/gpt-6-sol",
        responses.KEY,
        "/v1",
        lambda pieces: responses.OpenAI(responses.Answer(around(pieces, responses.Text("Hello")))).double,
    ),
    Spoken(
        Wire.ANTHROPIC,
        "anthropic/claude-opus-5-5",
        messages.KEY,
        "",
        lambda pieces: messages.Anthropic(messages.Answer(around(pieces, messages.Text("Hello")))).double,
        messages.PING,
    ),
    Spoken(
        Wire.GEMINI,
        "gemini/gemini-2.5-pro",
        google.KEY,
        "/v1beta",
        lambda pieces: google.Gemini(google.Answer(around(pieces, google.Text("Hello")))).double,
    ),
)
EACH = pytest.mark.parametrize("spoken", WIRES, ids=lambda spoken: f"{spoken.wire}-{len(spoken.alive)}")


@pytest.fixture
async def impatient() -> AsyncIterator[WireRouter]:
    port = WireRouter(os.environ, silence=Silence(LIMIT, LIMIT, LIMIT))
    await port.warm()
    yield port
    await port.close()


@EACH
async def test_what_keeps_the_connection_alive_keeps_the_request_alive(impatient: WireRouter, spoken: Spoken) -> None:
    double = spoken.double((Pause(LIFE), spoken.alive) * 5)
    async with playing(double):
        answer = await answered(impatient, asked(spoken, double))
    assert answer.parts == (TextPart("Hello"),)
    assert len(double.asked) == 1


@EACH
@pytest.mark.parametrize("where", ["before the headers", "in the answer"])
async def test_true_silence_is_cut_and_asked_for_again(impatient: WireRouter, spoken: Spoken, where: str) -> None:
    double = spoken.double((Pause(60),) if where == "in the answer" else ())
    double.before = Pause(60) if where == "before the headers" else None
    async with playing(double), asyncio.timeout(30):
        with pytest.raises(ModelError, match="The provider was silent for 1 s.") as caught:
            await answered(impatient, asked(spoken, double))
    assert isinstance(posture(caught.value.failure), Retry)


async def test_a_page_that_does_not_end_is_silence_too(impatient: WireRouter) -> None:
    (spoken, *_) = WIRES
    double = Double(lambda *_: [b"<html>", Pause(60)], kind="text/html")
    async with playing(double), asyncio.timeout(30):
        with pytest.raises(ModelError, match="The provider was silent for 1 s."):
            await answered(impatient, asked(spoken, double))


async def test_the_first_byte_may_take_longer_than_the_headers() -> None:
    patient = WireRouter(os.environ, silence=Silence(headers=LIMIT, first=LIMIT * 20, between=LIMIT))
    (spoken, *_) = WIRES
    double = chat((), before=Pause(LIMIT * 2))
    async with playing(double):
        assert (await answered(patient, asked(spoken, double))).parts == (TextPart("Hello"),)
    await patient.close()


def asked(spoken: Spoken, double: Double) -> ModelRequest:
    return request(spoken.wire, spoken.model, f"{double.url}{spoken.path}", spoken.key)
