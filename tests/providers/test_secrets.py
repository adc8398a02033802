"""Keys and headers on every wire: sent without surrounding blanks, and shown nowhere."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from activities.credentials.keys import Keys
from activities.model.endpoint import Endpoint
from activities.model.endpoints import EndpointResolver
from activities.model.failures import Stop, StopKind, classify
from activities.model.headers import redact_failure
from activities.model.port import ModelRequest
from activities.model.wires.router import WireRouter
from activities.redact import Redactor
from tests.providers import anthropic_messages as messages
from tests.providers import google_gemini as gemini
from tests.providers import openai_responses as responses
from tests.providers.double_requests import GO, collect_answer
from tests.providers.provider_double import ProviderDouble, RefusedRequest, StreamPlan, serve_double
from workflows.domain.config.config import Config
from workflows.domain.errors import ModelError, UsageError
from workflows.domain.provider_failure import ProviderFailure

pytestmark = pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier:UserWarning")  # litellm's
KEY = "a-key-that-nobody-guesses-4711"
PROCESS = "another-key-of-this-process-42"
HEADER = "a-header-of-a-gateway-0815"
MODELS = {  # wire → a model, and what its provider is configured as
    "chat": ("local/llama", {"npm": "@ai-sdk/openai-compatible"}),
    "responses": ("openai/gpt-5.3-codex", {"npm": "@ai-sdk/openai"}),
    "anthropic": ("anthropic/claude-opus-4-5", {}),
    "gemini": ("google/gemini-2.5-pro", {}),
    "ollama": ("ollama/qwen3", {}),
    "litellm": ("llamagate/some-model", {}),
}
every_wire = pytest.mark.parametrize("wire", MODELS)


class Echo:
    """A provider that takes no key, and answers with the sent one."""

    def __init__(self, status: int = 401) -> None:
        self.status = status
        self.sent: list[str] = []
        self.double = ProviderDouble(self.check)

    def check(self, request: web.Request, body: dict[str, Any]) -> StreamPlan:
        self.sent = [value.removeprefix("Bearer ") for value in request.headers.values()]
        raise RefusedRequest(self.status, {"error": {"message": f"No such key: {', '.join(self.sent)}", "code": KEY}})


async def reach(port: WireRouter, wire: str, url: str, keys: Path, *, key: str = KEY, header: str = HEADER) -> Endpoint:
    model, more = MODELS[wire]
    address = url if wire == "gemini" else f"{url}/v1"
    own = {} if wire == "litellm" else {"baseURL": address}  # with one, litellm asks no provider
    options = {**own, "apiKey": key, "headers": {"x-gateway": header}}
    config = Config.model_validate({"provider": {model.partition("/")[0]: {**more, "options": options}}})
    endpoint = (await EndpointResolver(Keys(keys / "auth.json"), {}, port).resolve(model, config)).endpoint
    assert str(endpoint.wire) == wire
    return endpoint if own else endpoint.model_copy(update={"base_url": address})


async def failed(port: WireRouter, endpoint: Endpoint) -> tuple[ProviderFailure, str]:
    """The failure, and everything that its exception could show."""
    with pytest.raises(ModelError) as caught:
        await collect_answer(port, ModelRequest(endpoint=endpoint, messages=GO))
    return caught.value.failure, f"{caught.value!r} {caught.getrepr(chain=True)} {caught.value.failure!r}"


@every_wire
async def test_blanks_around_a_key_and_a_header_are_not_sent(port: WireRouter, tmp_path: Path, wire: str) -> None:
    echo = Echo()
    async with serve_double(echo.double):
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
    async with serve_double(provider.double):
        endpoint = await reach(port, wire, provider.double.url, tmp_path, key=f"{key}\r\n")
        answer = await collect_answer(port, ModelRequest(endpoint=endpoint, messages=GO))
    assert answer.parts


@every_wire
@pytest.mark.parametrize("status", [401, 500])
async def test_a_key_that_the_provider_repeats_is_not_shown(
    port: WireRouter, tmp_path: Path, wire: str, status: int
) -> None:
    echo = Echo(status)
    async with serve_double(echo.double):
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
    for flawed, field in (({"key": broken}, "apiKey"), ({"header": broken}, "headers.x-gateway")):
        with pytest.raises(UsageError, match=f"provider.{provider}.options.{field}.*character 31") as caught:
            await reach(port, wire, "http://127.0.0.1:9", tmp_path, **flawed)
        assert KEY not in str(caught.getrepr(chain=True)) and HEADER not in str(caught.getrepr(chain=True))


@every_wire
async def test_a_request_that_cannot_be_written_is_not_tried_again(port: WireRouter, tmp_path: Path, wire: str) -> None:
    echo = Echo()
    async with serve_double(echo.double):
        endpoint = await reach(port, wire, echo.double.url, tmp_path)
        broken = endpoint.model_copy(update={"key": SecretStr(f"{KEY}\n{HEADER}")})
        failure, shown = await failed(port, broken)
    action = classify(failure)
    assert isinstance(action, Stop) and action.kind in (StopKind.UNSENT, StopKind.BAD_REQUEST)
    assert KEY not in shown and HEADER not in shown and echo.double.asked == []


@pytest.mark.parametrize("wire", [wire for wire in MODELS if wire != "litellm"])
async def test_no_redirect_takes_a_conversation_to_another_host(port: WireRouter, tmp_path: Path, wire: str) -> None:
    async with redirecting() as (url, other):
        failure, _ = await failed(port, await reach(port, wire, url, tmp_path))
    assert other.asked == [] and failure.message.startswith("The address redirects to '127.0.0.1'")


@pytest.mark.parametrize("model", ["openai/gpt-4o-audio-preview", "novita/deepseek-r1"])
async def test_nor_does_one_where_litellm_sends_by_openais_client(port: WireRouter, model: str) -> None:
    async with redirecting() as (url, other):
        endpoint = Endpoint(model=model, base_url=url, key=SecretStr(KEY), headers={"x-gateway": HEADER})
        await failed(port, endpoint)
    assert other.asked == []


@asynccontextmanager
async def redirecting() -> AsyncIterator[tuple[str, ProviderDouble]]:
    """The address of a server that sends each request to another one, and that one."""
    other = Echo().double

    def redirect(request: web.Request, body: dict[str, Any]) -> StreamPlan:
        raise RefusedRequest(307, {}, {"location": f"{other.url}{request.path}"})

    async with serve_double(other), serve_double(ProviderDouble(redirect)) as double:
        yield double.url, other
        assert double.asked


@given(before=st.integers(0, 1100), quoted=st.booleans(), who=st.sampled_from([KEY, HEADER, PROCESS]))
def test_no_cut_leaves_the_beginning_of_a_secret(before: int, quoted: bool, who: str) -> None:
    told = f"{'x' * before}{who}{'y' * 1100}"
    failure = ProviderFailure(provider="p", message="m" if quoted else told, quote=told if quoted else None)
    sent = Endpoint(model="openai/m", key=SecretStr(KEY), headers={"x-gateway": HEADER})

    cut = redact_failure(failure, sent, Redactor(lambda: [PROCESS])).message[:1000]

    assert who[:8] not in cut and cut.startswith("m: 'x" if quoted and before else cut[:1])


@pytest.mark.parametrize("wire", ["chat", "responses", "anthropic", "gemini"])
@pytest.mark.parametrize("sent", ["page", "event"])
async def test_what_came_instead_of_an_answer_is_quoted_without_secrets_wherever_the_quote_ends(
    port: WireRouter, tmp_path: Path, wire: str, sent: str
) -> None:
    for before in range(150, 202, 6):
        text = "x" * before + KEY
        if sent == "page":
            double = ProviderDouble(lambda *_, text=text: [text.encode()], kind="text/html")
        else:
            double = ProviderDouble(lambda *_, text=text: [f"data: {text}\n\n".encode()])
        async with serve_double(double):
            failure, shown = await failed(port, await reach(port, wire, double.url, tmp_path))
        assert "xxxxxxxx" in failure.message and len(failure.message) < 500
        assert KEY[:8] not in shown


@pytest.mark.parametrize("login", ["ada:a-servers-password", "a-servers-token"])
@pytest.mark.parametrize("refused", [True, False])
async def test_a_login_in_an_address_is_sent_and_not_shown(
    port: WireRouter, tmp_path: Path, login: str, refused: bool
) -> None:
    sent: list[str] = []

    def check(request: web.Request, _: Any) -> StreamPlan:
        sent.append(request.headers["authorization"])
        if refused:
            raise RefusedRequest(400, {"error": {"message": f"no {login}: {sent[0]}"}})
        return [sent[0].encode()]

    async with serve_double(ProviderDouble(check, kind="text/html")) as double:
        endpoint = await reach(port, "chat", double.url.replace("//", f"//{login}@"), tmp_path)
        _, shown = await failed(port, endpoint)
    assert sent[0].startswith("Basic ")
    assert login.rpartition(":")[2] not in shown and sent[0].removeprefix("Basic ") not in shown
