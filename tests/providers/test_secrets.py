"""Keys and headers on every wire: sent without the blanks around them, and shown nowhere."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from pydantic import SecretStr

from activities.model.endpoints import Endpoints
from activities.model.failures import ModelError, ProviderFailure, Stop, StopKind, posture
from activities.model.keys import Keys
from activities.model.port import Endpoint, ModelRequest
from activities.model.wires.router import WireRouter
from tests.providers import anthropic_messages as messages
from tests.providers import google_gemini as gemini
from tests.providers import openai_responses as responses
from tests.providers.asking import GO, answered
from tests.providers.playing import Double, Play, Refused, playing
from workflows.domain.config.config import Config
from workflows.domain.errors import UsageError

KEY = "a-key-that-nobody-guesses-4711"
HEADER = "a-header-of-a-gateway-0815"
MODELS = {  # wire → a model, and what its provider is configured as
    "chat": ("local/llama", {"npm": "@ai-sdk/openai-compatible"}),
    "responses": ("openai/gpt-5.3-codex", {"npm": "@ai-sdk/openai"}),
    "anthropic": ("anthropic/claude-opus-4-5", {}),
    "gemini": ("google/gemini-2.5-pro", {}),
    "litellm": ("mistral/mistral-large-latest", {}),
}
every_wire = pytest.mark.parametrize("wire", MODELS)


class Echo:
    """A provider that takes no key, and says which it was sent."""

    def __init__(self, status: int = 401) -> None:
        self.status = status
        self.sent: list[str] = []
        self.double = Double(self.check)

    def check(self, request: web.Request, body: dict[str, Any]) -> Play:
        self.sent = [value.removeprefix("Bearer ") for value in request.headers.values()]
        raise Refused(self.status, {"error": {"message": f"No such key: {', '.join(self.sent)}", "code": KEY}})


async def reach(port: WireRouter, wire: str, url: str, keys: Path, *, key: str = KEY, header: str = HEADER) -> Endpoint:
    model, more = MODELS[wire]
    address = url if wire == "gemini" else f"{url}/v1"
    options = {"baseURL": address, "apiKey": key, "headers": {"x-gateway": header}}
    config = Config.model_validate({"provider": {model.partition("/")[0]: {**more, "options": options}}})
    endpoint = (await Endpoints(Keys(keys / "auth.json"), {}, port).reach(model, config)).endpoint
    assert str(endpoint.wire) == wire
    return endpoint


async def failed(port: WireRouter, endpoint: Endpoint) -> tuple[ProviderFailure, str]:
    """The failure, and everything that its exception could show to anybody."""
    with pytest.raises(ModelError) as caught:
        await answered(port, ModelRequest(endpoint=endpoint, messages=GO))
    return caught.value.failure, f"{caught.value!r} {caught.getrepr(chain=True)} {caught.value.failure!r}"


@every_wire
async def test_blanks_around_a_key_and_a_header_are_not_sent(port: WireRouter, tmp_path: Path, wire: str) -> None:
    echo = Echo()
    async with playing(echo.double):
        await failed(port, await reach(port, wire, echo.double.url, tmp_path, key=f" {KEY}\r\n", header=f"{HEADER}\r"))
    assert KEY in echo.sent and HEADER in echo.sent


@pytest.mark.parametrize(
    ("wire", "service", "key"),
    [
        ("responses", lambda: responses.OpenAI(responses.Answer((responses.Text("Hi"),))), responses.KEY),
        ("anthropic", lambda: messages.Anthropic(messages.Answer((messages.Text("Hi"),))), messages.KEY),
        ("gemini", lambda: gemini.Gemini(gemini.Answer((gemini.Text("Hi"),))), gemini.KEY),
    ],
)
async def test_a_key_from_a_file_with_windows_line_ends_works(
    port: WireRouter, tmp_path: Path, wire: str, service: Callable[[], Any], key: str
) -> None:
    provider = service()
    async with playing(provider.double):
        endpoint = await reach(port, wire, provider.double.url, tmp_path, key=f"{key}\r\n")
        answer = await answered(port, ModelRequest(endpoint=endpoint, messages=GO))
    assert answer.parts


@every_wire
@pytest.mark.parametrize("status", [401, 500])
async def test_a_key_that_the_provider_repeats_is_not_shown(
    port: WireRouter, tmp_path: Path, wire: str, status: int
) -> None:
    echo = Echo(status)
    async with playing(echo.double):
        failure, shown = await failed(port, await reach(port, wire, echo.double.url, tmp_path))
    assert failure.message.startswith("No such key: ") and "[redacted]" in failure.message
    assert KEY not in shown and HEADER not in shown


@every_wire
@pytest.mark.parametrize("flaw", ["\n", "\r\nx-evil: 1", "é", "\0", "\u2028"])
async def test_what_no_header_can_hold_is_refused_before_a_request(
    port: WireRouter, tmp_path: Path, wire: str, flaw: str
) -> None:
    provider = MODELS[wire][0].partition("/")[0]
    broken = f"{KEY}{flaw}{HEADER}"
    for given, field in (({"key": broken}, "apiKey"), ({"header": broken}, "headers.x-gateway")):
        with pytest.raises(UsageError, match=f"provider.{provider}.options.{field}.*character 31") as caught:
            await reach(port, wire, "http://127.0.0.1:9", tmp_path, **given)
        assert KEY not in str(caught.getrepr(chain=True)) and HEADER not in str(caught.getrepr(chain=True))


@every_wire
async def test_a_request_that_cannot_be_written_is_not_tried_again(port: WireRouter, tmp_path: Path, wire: str) -> None:
    echo = Echo()
    async with playing(echo.double):
        endpoint = await reach(port, wire, echo.double.url, tmp_path)
        broken = endpoint.model_copy(update={"key": SecretStr(f"{KEY}\n{HEADER}")})
        failure, shown = await failed(port, broken)
    stance = posture(failure)
    assert isinstance(stance, Stop) and stance.kind in (StopKind.UNSENT, StopKind.BAD_REQUEST)
    assert KEY not in shown and HEADER not in shown and echo.double.asked == []
