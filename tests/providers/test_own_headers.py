"""Requests name Holdfast on every wire, no library; configured headers win."""

from collections.abc import Mapping
from importlib.metadata import version

import pytest
from aiohttp import web
from pydantic import SecretStr

from activities.model.endpoint import Endpoint, Wire
from activities.model.port import ModelRequest
from activities.model.wires.router import WireRouter
from tests.providers.double_requests import GO, READ, collect_answer
from tests.providers.provider_double import ProviderDouble, RefusedRequest, StreamPlan, serve_double
from tests.providers.test_unwritable import MODELS
from workflows.domain.errors import ModelError

OTHER = (  # by litellm, each by another client of its
    *((Wire.LITELLM, name) for name in ("openai/gpt-4o-audio-preview", "groq/llama-3.3-70b", "openrouter/gpt-5")),
    *((Wire.LITELLM, name) for name in ("ollama_chat/llama3", "together_ai/kimi-k2", "deepseek/deepseek-chat")),
    *((Wire.LITELLM, name) for name in ("novita/deepseek-r1", "vercel_ai_gateway/openai/gpt-5")),
)
LIBRARIES = ("litellm", "openai", "stainless", "python", "httpx", "aiohttp")

pytestmark = pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier:UserWarning")  # litellm's


@pytest.mark.parametrize(("wire", "model"), [*MODELS.items(), *OTHER])
async def test_a_request_names_holdfast_and_no_library(port: WireRouter, wire: Wire, model: str) -> None:
    headers = await sent(port, wire, model, {})

    assert headers["user-agent"] == f"holdfast/{version('holdfast')}"
    named = [name for name, value in headers.items() if any(each in f"{name}: {value}".lower() for each in LIBRARIES)]
    assert named == []


@pytest.mark.parametrize(("wire", "model"), MODELS.items())
async def test_configured_headers_win_however_they_are_written(port: WireRouter, wire: Wire, model: str) -> None:
    headers = await sent(port, wire, model, {"user-AGENT": "mine/1", "X-Team": "red"})

    assert headers.getall("user-agent") == ["mine/1"]
    assert headers["x-team"] == "red"


@pytest.mark.parametrize(("wire", "name"), [(Wire.ANTHROPIC, "X-API-Key"), (Wire.GEMINI, "X-Goog-API-Key")])
async def test_a_configured_key_of_a_gateway_replaces_the_own_one(port: WireRouter, wire: Wire, name: str) -> None:
    assert (await sent(port, wire, MODELS[wire], {name: "of the gateway"})).getall(name) == ["of the gateway"]


async def test_openrouter_is_told_the_name_of_the_app(port: WireRouter) -> None:
    headers = await sent(port, Wire.LITELLM, "openrouter/openai/gpt-5", {})

    assert (headers["x-title"], headers["http-referer"]) == ("Holdfast", "urn:holdfast")


async def sent(port: WireRouter, wire: Wire, model: str, headers: Mapping[str, str]):  # type: ignore[no-untyped-def]
    """The headers of a request that is refused."""
    async with serve_double(ProviderDouble(refuse)) as double:
        endpoint = Endpoint(model=model, base_url=double.url, key=SecretStr("k"), wire=wire, headers=dict(headers))
        with pytest.raises(ModelError):
            await collect_answer(port, ModelRequest(endpoint=endpoint, messages=GO, tools=(READ,)))
    return double.headers[-1]


def refuse(request: web.Request, body: object) -> StreamPlan:
    raise RefusedRequest(400, {"error": {"message": "no"}})
