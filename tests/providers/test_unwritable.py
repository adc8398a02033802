"""Requests that cannot be written: nothing is sent or retried, and the error is named."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import JsonValue, SecretStr

from activities.credentials.keys import Keys
from activities.model.endpoint import Endpoint, Wire
from activities.model.endpoints import EndpointResolver
from activities.model.failures import Stop, StopKind, classify
from activities.model.port import ModelRequest
from activities.model.wires.router import WireRouter
from tests.providers.double_requests import GO, collect_answer, request
from tests.providers.provider_double import ProviderDouble, StreamPlan, serve_double
from workflows.domain.config.config import Config
from workflows.domain.errors import ModelError, UsageError

MODELS = {
    Wire.CHAT: "openai/llama",
    Wire.RESPONSES: "openai/gpt-5.3-codex",
    Wire.ANTHROPIC: "anthropic/claude-opus-4-5",
    Wire.BEDROCK: "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0",
    Wire.GEMINI: "gemini/gemini-2.5-pro",
    Wire.OLLAMA: "ollama_chat/qwen3",
    Wire.LITELLM: "mistral/mistral-large-latest",
}
KEY = SecretStr("k")
SURROGATE: dict[str, JsonValue] = {"user": "\ud800", "metadata": {"user_id": "\ud800"}}
CONFLICT: dict[str, JsonValue] = {"reasoning": "high", "reasoning_effort": "low"}


def test_every_wire_is_here() -> None:
    assert MODELS.keys() == set(Wire)


@pytest.mark.parametrize("wire", MODELS)
@pytest.mark.parametrize(
    "address", ["127.0.0.1:9/v1", "ftp://127.0.0.1:9", "http://[::1", "http://127.0.0.1:99999/500"]
)
async def test_an_address_that_is_none_is_refused_by_the_name_of_its_field(
    port: WireRouter, tmp_path: Path, wire: Wire, address: str
) -> None:
    with pytest.raises(UsageError, match=r"provider\.\w+\.options\.baseURL is not an address") as caught:
        await reach(port, MODELS[wire], tmp_path, {"baseURL": address})
    assert address not in str(caught.value)


@pytest.mark.parametrize("name", ["x gateway", "x-gatewaé", "", "x:y"])
async def test_a_header_with_a_name_that_is_none_is_refused_by_it(port: WireRouter, tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=rf"provider\.openai\.options\.headers\.{name} is no header"):
        await reach(port, MODELS[Wire.CHAT], tmp_path, {"baseURL": "http://127.0.0.1:9", "headers": {name: "value"}})


@pytest.mark.parametrize("wire", [wire for wire in MODELS if wire is not Wire.LITELLM])
@pytest.mark.parametrize("address", ["127.0.0.1:9", "http://[::1"])
async def test_an_address_that_only_the_wire_finds_out_about_is_named(
    port: WireRouter, wire: Wire, address: str
) -> None:
    assert "baseURL" in await unsent(port, Endpoint(model=MODELS[wire], base_url=address, key=KEY, wire=wire))


@pytest.mark.parametrize("wire", MODELS)
async def test_a_header_that_only_the_wire_finds_out_about_is_named(port: WireRouter, wire: Wire) -> None:
    async with serve_double(ProviderDouble(never)) as double:
        endpoint = Endpoint(model=MODELS[wire], base_url=double.url, key=KEY, wire=wire, headers={"x-gatewaé": "value"})
        assert "header" in await unsent(port, endpoint)


@pytest.mark.parametrize(
    ("wire", "options", "named"),
    [
        (Wire.CHAT, SURROGATE, "character"),
        (Wire.RESPONSES, SURROGATE, "character"),
        (Wire.ANTHROPIC, SURROGATE, "character"),
        (Wire.RESPONSES, CONFLICT, "options"),
        (Wire.GEMINI, {"thinking": "on"}, "options"),
    ],
)
async def test_options_that_cannot_be_written_are_named(
    port: WireRouter, wire: Wire, options: Mapping[str, JsonValue], named: str
) -> None:
    async with serve_double(ProviderDouble(never)) as double:
        assert named in await unsent(
            port, Endpoint(model=MODELS[wire], base_url=double.url, key=KEY, wire=wire), options
        )


async def reach(port: WireRouter, model: str, keys: Path, options: dict[str, JsonValue]) -> Endpoint:
    config = Config.model_validate({"provider": {model.partition("/")[0]: {"options": {"apiKey": "k", **options}}}})
    return (await EndpointResolver(Keys(keys / "auth.json"), {}, port).resolve(model, config)).endpoint


async def unsent(port: WireRouter, endpoint: Endpoint, options: Mapping[str, JsonValue] | None = None) -> str:
    with pytest.raises(ModelError) as caught:
        await collect_answer(port, ModelRequest(endpoint=endpoint, messages=GO, options=options or {}))
    action = classify(caught.value.failure)
    assert isinstance(action, Stop) and action.kind is StopKind.UNSENT
    return action.message


def never(*_: object) -> StreamPlan:
    raise AssertionError("a request was sent")


@pytest.mark.parametrize("model", ["vertex_ai/mistral-large", "vertex_ai/gemini-2.5-pro"])
async def test_a_package_that_litellm_lacks_is_named_and_not_asked_for_again(
    port: WireRouter, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    monkeypatch.setitem(sys.modules, "google.auth", None)  # Google's client brings it, for tests of its wire
    with pytest.raises(ModelError, match=r"package of 'google\b.* install holdfast\[vertex\]") as caught:
        await collect_answer(port, request(Wire.LITELLM, model, "http://127.0.0.1:9", "k"))
    assert isinstance(classify(caught.value.failure), Stop)
