"""Ends of answers on litellm's wires: each is classified, and a cut answer is none."""

from typing import Any

import pytest
from aiohttp import web

from activities.model.endpoint import Wire
from activities.model.failures import Retry, classify
from activities.model.port import Finish
from activities.model.wires.router import WireRouter
from tests.providers.double_requests import collect_answer, request
from tests.providers.provider_double import Disconnect, ProviderDouble, StreamPlan, event, serve_double
from workflows.domain.errors import ModelError
from workflows.domain.messages import TextPart

pytestmark = pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier:UserWarning")  # litellm's
CHAT = ("mistral/mistral-large-latest", "groq/llama-3.3-70b-versatile")
DONE = b"data: [DONE]\n\n"
ALIVE = b": still thinking\n\n"
ENDS = {"stop": Finish.STOP, "length": Finish.LENGTH, "content_filter": Finish.CONTENT_FILTER}


def piece(text: str | None = None, finish: str | None = None) -> bytes:
    """A piece of an answer of OpenAI's chat protocol."""
    delta = {"role": "assistant", "content": text} if text else {}
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return event({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]})


def plays(*pieces: bytes | Disconnect) -> ProviderDouble:
    def check(request: web.Request, body: dict[str, Any]) -> StreamPlan:
        return pieces

    return ProviderDouble(check)


async def ended(port: WireRouter, model: str, double: ProviderDouble) -> tuple[Finish, tuple[object, ...]]:
    async with serve_double(double):
        answer = await collect_answer(port, request(Wire.LITELLM, model, double.url, "k"))
    return answer.finish, answer.parts


async def failed(port: WireRouter, model: str, double: ProviderDouble) -> Retry:
    async with serve_double(double):
        with pytest.raises(ModelError) as caught:
            await collect_answer(port, request(Wire.LITELLM, model, double.url, "k"))
    action = classify(caught.value.failure)
    assert isinstance(action, Retry)
    return action


@pytest.mark.parametrize("model", CHAT)
@pytest.mark.parametrize("reason", ENDS)
async def test_the_end_is_that_of_the_provider(port: WireRouter, model: str, reason: str) -> None:
    double = plays(ALIVE, piece("Hi"), ALIVE, piece(finish=reason), DONE)

    assert await ended(port, model, double) == (ENDS[reason], (TextPart(text="Hi"),))


@pytest.mark.parametrize("model", CHAT)
@pytest.mark.parametrize("clean", [True, False])
async def test_an_answer_without_an_end_is_asked_for_again(port: WireRouter, model: str, clean: bool) -> None:
    await failed(port, model, plays(piece("Half a te"), Disconnect(clean)))


@pytest.mark.parametrize("model", CHAT)
async def test_an_error_in_the_middle_is_no_end(port: WireRouter, model: str) -> None:
    error = event({"error": {"message": "The server is overloaded", "type": "server_error", "code": 503}})

    await failed(port, model, plays(piece("Half a te"), error))
