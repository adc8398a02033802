"""OpenAI's models at a person's own addresses: servers that have one of its protocols, or both."""

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from activities.credentials.keys import Keys
from activities.model.endpoints import EndpointResolver
from activities.model.failures import Stop, StopKind, classify
from activities.model.port import ModelRequest
from activities.model.stream import Answer
from activities.model.wires.router import WireRouter
from tests.providers import openai_chat, openai_responses
from tests.providers.double_requests import GO, READ, collect_answer
from tests.providers.provider_double import ProviderDouble, RefusedRequest, StreamPlan, serve_double
from workflows.domain.config.config import Config
from workflows.domain.errors import ModelError
from workflows.domain.messages import TextPart

MODELS = ("gpt-6-sol", "gpt-5.6-sol", "gpt-5.3-codex")


async def ask(port: WireRouter, double: ProviderDouble, model: str, **written: Any) -> Answer:
    id = model.partition("/")[0]
    options = {"baseURL": f"{double.url}/v1", "apiKey": openai_chat.KEY}
    config = Config.model_validate({"provider": {id: {"options": options, **written}}})
    resolved = await EndpointResolver(Keys(Path("nowhere.json")), {}, port).resolve(model, config)
    asked = ModelRequest(endpoint=resolved.endpoint, messages=GO, tools=(READ,), options=resolved.options)
    return await collect_answer(port, asked)


async def refusal(port: WireRouter, double: ProviderDouble, model: str, **written: Any) -> Stop:
    with pytest.raises(ModelError) as caught:
        await ask(port, double, model, **written)
    action = classify(caught.value.failure)
    assert isinstance(action, Stop)
    return action


def both_protocols() -> ProviderDouble:
    """OpenAI behind a gateway."""
    chat = openai_chat.OpenAIChat(openai_chat.Answer((openai_chat.Text("By chat."),)))
    responses = openai_responses.OpenAI(openai_responses.Answer((openai_responses.Text("By Responses."),)))

    def check(request: web.Request, body: dict[str, Any]) -> StreamPlan:
        return (responses if request.path.endswith("/responses") else chat).check(request, body)

    return ProviderDouble(check)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("id", "written"), [("openai", {}), ("gateway", {"npm": "@ai-sdk/openai"})])
async def test_models_behind_a_gateway_get_their_tools(
    port: WireRouter, id: str, written: dict[str, Any], name: str
) -> None:
    async with serve_double(both_protocols()) as double:
        assert (await ask(port, double, f"{id}/{name}", **written)).parts == (TextPart(text="By Responses."),)
    assert double.asked[0]["tools"] and double.asked[0]["include"] == ["reasoning.encrypted_content"]


async def test_a_compatible_server_is_asked_by_chat(port: WireRouter) -> None:
    for id, written in (("openai", {"npm": "@ai-sdk/openai-compatible"}), ("mine", {})):
        async with serve_double(both_protocols()) as double:
            assert (await ask(port, double, f"{id}/llama", **written)).parts == (TextPart(text="By chat."),)


async def test_what_is_refused_by_chat_names_the_setting_that_helps(port: WireRouter) -> None:
    async with serve_double(both_protocols()) as double:
        action = await refusal(port, double, "mine/gpt-6-sol")
    assert action.kind is StopKind.BAD_REQUEST
    assert "not supported for gpt-6-sol in /v1/chat/completions" in action.message
    assert '`"npm": "@ai-sdk/openai"`' in action.message

    def refuse(*_: object) -> StreamPlan:
        raise RefusedRequest(
            400, openai_chat.error_body("Function tools are not supported; use /v1/responses instead.")
        )

    async with serve_double(ProviderDouble(refuse)) as double:
        action = await refusal(port, double, "azure/mine")
    assert "name its entry in opencode.json after the model, with the deployment as `id`" in action.message


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, {"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}}),  # llama.cpp
        (404, {"detail": "Not Found"}),  # vLLM
        (405, {"detail": "Method Not Allowed"}),
    ],
)
async def test_a_server_without_responses_is_asked_once_and_the_setting_is_named(
    port: WireRouter, status: int, body: dict[str, Any]
) -> None:
    def check(*_: object) -> StreamPlan:
        raise RefusedRequest(status, body)

    async with serve_double(ProviderDouble(check)) as double:
        action = await refusal(port, double, "openai/llama")
    assert '`"npm": "@ai-sdk/openai-compatible"`' in action.message
    assert double.paths == ["/v1/responses"]


async def test_a_model_that_a_server_lacks_is_no_missing_protocol(port: WireRouter) -> None:
    def check(*_: object) -> StreamPlan:
        raise RefusedRequest(404, {"error": {"message": 'model "llama" not found', "code": "model_not_found"}})

    async with serve_double(ProviderDouble(check)) as double:
        action = await refusal(port, double, "openai/llama")
    assert (action.kind, action.message) == (StopKind.NOT_FOUND, 'model "llama" not found')
