"""Silence is measured in received bytes, on every wire of ours: a keep-alive counts."""

import asyncio
import math
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from pydantic import ValidationError

from activities.model.endpoint import Wire
from activities.model.failures import Retry, classify
from activities.model.port import ModelRequest
from activities.model.wires.router import WireRouter
from activities.model.wires.timeouts import StreamTimeouts, silence_limits
from tests.polling import WAIT_TIMEOUT
from tests.providers import anthropic_messages as messages
from tests.providers import google_gemini as google
from tests.providers import openai_responses as responses
from tests.providers.double_requests import collect_answer, request
from tests.providers.provider_double import ProviderDouble, StreamPause, StreamPlan, event, serve_double
from workflows.domain.config.provider_settings import ProviderOptions
from workflows.domain.errors import ModelError
from workflows.domain.messages import TextPart

LIMIT = 1.0  # seconds
NOW = StreamPause(0)
LIFE = LIMIT * 0.4
COMMENT = b": still thinking\n\n"


@dataclass(frozen=True)
class Spoken:
    """A wire, and its provider's pieces around an answer of one word."""

    wire: Wire
    model: str
    key: str
    path: str
    double: Callable[[StreamPlan], ProviderDouble]
    alive: bytes = COMMENT


def chat(pieces: StreamPlan, before: StreamPause = NOW) -> ProviderDouble:
    def chunk(delta: dict[str, Any], end: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": end}
        return event({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]})

    said = (before, chunk({"role": "assistant"}), *pieces, chunk({"content": "Hello"}), *pieces, chunk({}, "stop"))
    return ProviderDouble(lambda *_: said)


def around(pieces: StreamPlan, text: Any) -> Any:
    return (*pieces, text, *pieces)


WIRES: tuple[Spoken, ...] = (
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
WIRES += tuple(Spoken(Wire.LITELLM, model, "k", "", chat) for model in ("mistral/m", "groq/m"))
pytestmark = pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier:UserWarning")  # litellm's
EACH = pytest.mark.parametrize("spoken", WIRES, ids=lambda spoken: f"{spoken.wire}-{spoken.model}-{len(spoken.alive)}")


@pytest.fixture
async def impatient() -> AsyncIterator[WireRouter]:
    port = WireRouter(os.environ, timeouts=StreamTimeouts(LIMIT, LIMIT, LIMIT))
    await port.warm()
    yield port
    await port.close()


@EACH
async def test_what_keeps_the_connection_alive_keeps_the_request_alive(impatient: WireRouter, spoken: Spoken) -> None:
    double = spoken.double((StreamPause(LIFE), spoken.alive) * 5)
    async with serve_double(double):
        answer = await collect_answer(impatient, asked(spoken, double))
    assert answer.parts == (TextPart(text="Hello"),)
    assert len(double.asked) == 1


@EACH
@pytest.mark.parametrize("where", ["before the headers", "in the answer"])
async def test_true_silence_is_cut_and_asked_for_again(impatient: WireRouter, spoken: Spoken, where: str) -> None:
    double = spoken.double((StreamPause(60),) if where == "in the answer" else ())
    double.before = StreamPause(60) if where == "before the headers" else None
    async with serve_double(double), asyncio.timeout(WAIT_TIMEOUT):
        with pytest.raises(ModelError, match="The provider was silent for 1 s.") as caught:
            await collect_answer(impatient, asked(spoken, double))
    assert isinstance(classify(caught.value.failure), Retry)


@pytest.mark.parametrize("alive", [(), (StreamPause(0.5), COMMENT) * 600], ids=["silent", "alive"])
async def test_a_stream_that_has_brought_an_answer_and_its_usage_and_does_not_end_is_not_waited_for(
    alive: StreamPlan,
) -> None:
    (spoken, *_) = WIRES
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    said = {"index": 0, "delta": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}
    double = ProviderDouble(lambda *_: (event({"choices": [said], "usage": usage}), *alive, StreamPause(600)))
    port = WireRouter(os.environ)
    async with serve_double(double), asyncio.timeout(60):
        answer = await collect_answer(port, asked(spoken, double))
    await port.close()
    assert answer.parts == (TextPart(text="Hello"),) and answer.tokens.output == 2


async def test_a_page_that_does_not_end_is_silence_too(impatient: WireRouter) -> None:
    (spoken, *_) = WIRES
    double = ProviderDouble(lambda *_: [b"<html>", StreamPause(60)], kind="text/html")
    async with serve_double(double), asyncio.timeout(WAIT_TIMEOUT):
        with pytest.raises(ModelError, match="The provider was silent for 1 s."):
            await collect_answer(impatient, asked(spoken, double))


async def test_the_first_byte_may_take_longer_than_the_headers() -> None:
    patient = WireRouter(os.environ, timeouts=StreamTimeouts(headers=LIMIT, first_byte=LIMIT * 20, idle=LIMIT))
    (spoken, *_) = WIRES
    double = chat((), before=StreamPause(LIMIT * 2))
    async with serve_double(double):
        assert (await collect_answer(patient, asked(spoken, double))).parts == (TextPart(text="Hello"),)
    await patient.close()


@pytest.mark.parametrize("model", ["openai/m", "groq/m"])
async def test_a_server_of_ones_own_may_send_its_headers_with_the_first_piece(model: str) -> None:
    port = WireRouter(os.environ, timeouts=StreamTimeouts(headers=LIMIT, first_byte=LIMIT * 20, idle=LIMIT))
    double = chat(())
    double.before = StreamPause(LIMIT * 2)
    async with serve_double(double):
        asking = collect_answer(port, request(Wire.CHAT, model, f"{double.url}/v1", "k"))
        if model == "openai/m":
            assert (await asking).parts == (TextPart(text="Hello"),)
        else:
            with pytest.raises(ModelError, match="The provider was silent for 1 s."):
                await asking
    await port.close()


@pytest.mark.parametrize("name", ["chat", "responses"])
async def test_a_providers_own_limits_count_before_the_usual_ones(name: str, port: WireRouter) -> None:
    """A server of one's own too, which is waited for longer."""
    spoken = next(each for each in WIRES if each.wire == name)
    double = spoken.double((StreamPause(60),))
    limits = silence_limits(ProviderOptions(timeout=False, chunk_timeout=300))
    async with serve_double(double), asyncio.timeout(WAIT_TIMEOUT):
        wanted = asked(spoken, double)
        limited = replace(wanted, endpoint=wanted.endpoint.model_copy(update={"silence": limits}))
        with pytest.raises(ModelError, match="The provider was silent for 0.3 s."):
            await collect_answer(port, limited)


@pytest.mark.parametrize(
    ("written", "limits"),
    [
        ({}, (1, 2, 3)),
        ({"timeout": 9000}, (9, 9, 9)),
        ({"timeout": 9000, "chunkTimeout": 500.0}, (9, 0.5, 0.5)),
        ({"headerTimeout": 4000}, (4, 2, 3)),
        ({"timeout": False, "headerTimeout": 4000}, (4, 86400, 86400)),
        ({"chunkTimeout": 1e12}, (1, 86400, 86400)),
    ],
)
def test_opencodes_timeouts_are_silences(written: dict[str, Any], limits: tuple[float, ...]) -> None:
    own = silence_limits(ProviderOptions.model_validate(written, strict=True))
    assert StreamTimeouts(1, 2, 3).configured(own) == StreamTimeouts(*limits)


@pytest.mark.parametrize("written", [True, 0, -1, "60000", [1], math.nan])
def test_what_is_no_time_is_refused_in_words(written: Any) -> None:
    with pytest.raises(ValidationError, match="it takes milliseconds, such as 600000, or false for no limit"):
        ProviderOptions.model_validate({"chunkTimeout": written}, strict=True)


def asked(spoken: Spoken, double: ProviderDouble) -> ModelRequest:
    return request(spoken.wire, spoken.model, f"{double.url}{spoken.path}", spoken.key)
