"""Resources of Azure: how they are named, and where their deployments are asked."""

from pathlib import Path
from typing import Any

import pytest

from activities.credentials.keys import Keys
from activities.model.endpoint import Wire
from activities.model.endpoints import EndpointResolver, ResolvedModel
from activities.model.port import ModelRequest
from activities.model.wires.router import WireRouter
from tests.providers import openai_chat, openai_responses
from tests.providers.azure_openai import KEY, AzureChat, AzureResponses
from tests.providers.double_requests import GO, collect_answer
from tests.providers.provider_double import serve_double
from workflows.domain.config.config import Config
from workflows.domain.errors import UsageError
from workflows.domain.messages import TextPart

KEYED = {"AZURE_API_KEY": KEY}
V1 = "https://mine.openai.azure.com/openai/v1"


async def resolve(
    port: WireRouter, model: str, options: dict[str, Any], environment: dict[str, str], **models: Any
) -> ResolvedModel:
    config = Config.model_validate({"provider": {model.partition("/")[0]: {"options": options, "models": models}}})
    return await EndpointResolver(Keys(Path("nowhere.json")), KEYED | environment, port).resolve(model, config)


@pytest.mark.parametrize(
    ("options", "environment", "address"),
    [
        ({"resourceName": "mine"}, {"AZURE_RESOURCE_NAME": "other"}, V1),
        ({"resourceName": "{env:TEAM}"}, {"TEAM": "mine"}, V1),
        ({}, {"AZURE_RESOURCE_NAME": "mine"}, V1),
        ({}, {"AZURE_OPENAI_ENDPOINT": "https://mine.openai.azure.com/"}, V1),
        ({}, {"AZURE_API_BASE": "https://mine.openai.azure.com/openai/v1/"}, V1),
        ({"resourceName": "mine", "apiVersion": "preview"}, {}, f"{V1}?api-version=preview"),
        (
            {"resourceName": "mine", "apiVersion": "2025-01-01-preview"},
            {},
            "https://mine.openai.azure.com/openai/deployments/gpt-4.1?api-version=2025-01-01-preview",
        ),
        (
            {"resourceName": "mine", "useDeploymentBasedUrls": True},
            {},
            "https://mine.openai.azure.com/openai/deployments/gpt-4.1?api-version=2024-10-21",
        ),
    ],
)
async def test_a_resource_is_named_as_others_name_it(
    port: WireRouter, options: dict[str, Any], environment: dict[str, str], address: str
) -> None:
    found = (await resolve(port, "azure/gpt-4.1", options, environment)).endpoint
    assert (found.base_url, found.wire, found.secret) == (address, Wire.CHAT, KEY)


async def test_cognitive_services_have_a_domain_and_variables_of_their_own(port: WireRouter) -> None:
    names = {"AZURE_COGNITIVE_SERVICES_RESOURCE_NAME": "mine", "AZURE_COGNITIVE_SERVICES_API_KEY": "k"}
    found = (await resolve(port, "azure-cognitive-services/gpt-4.1", {}, names)).endpoint
    assert (found.base_url, found.secret) == ("https://mine.cognitiveservices.azure.com/openai/v1", "k")


@pytest.mark.parametrize(
    ("options", "words"),
    [({}, "set AZURE_RESOURCE_NAME, or provider.azure.options.resourceName"), ({"resourceName": "a.b/"}, "no name of")],
)
async def test_without_a_resource_nothing_is_sent(port: WireRouter, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        await resolve(port, "azure/gpt-4.1", options, {})


@pytest.mark.parametrize(("name", "id"), [("prod", "gpt-5.4"), ("gpt-5.4", "prod")])
async def test_either_name_of_a_deployment_says_its_protocol(port: WireRouter, name: str, id: str) -> None:
    found = await resolve(port, f"azure/{name}", {"resourceName": "mine"}, {}, **{name: {"id": id}})
    assert found.endpoint.wire is Wire.RESPONSES


async def test_a_header_of_ones_own_stands_for_the_key(port: WireRouter) -> None:
    options = {"resourceName": "mine", "headers": {"Authorization": "Bearer entra"}}
    found = (await resolve(port, "azure/gpt-4.1", options, {"AZURE_API_KEY": ""})).endpoint
    assert found.key is None and found.authorization == {}


async def test_a_variable_that_holds_no_address_is_named(port: WireRouter) -> None:
    with pytest.raises(UsageError, match="AZURE_OPENAI_ENDPOINT is not an address"):
        await resolve(port, "azure/gpt-4.1", {}, {"AZURE_OPENAI_ENDPOINT": "mine.openai.azure.com"})


async def test_a_resource_without_a_key_is_an_error(port: WireRouter) -> None:
    with pytest.raises(UsageError, match="There is no key for 'azure': set AZURE_API_KEY"):
        await resolve(port, "azure/gpt-4.1", {}, {"AZURE_RESOURCE_NAME": "mine", "AZURE_API_KEY": ""})


async def test_a_deployment_has_the_price_and_the_protocol_of_the_model_behind_it(port: WireRouter) -> None:
    known = await resolve(port, "azure/gpt-5.4", {"resourceName": "mine"}, {})
    named = await resolve(port, "azure/gpt-5.4", {"resourceName": "mine"}, {}, **{"gpt-5.4": {"id": "team-deployment"}})

    assert (named.endpoint.name, named.endpoint.wire) == ("team-deployment", Wire.RESPONSES)
    assert known.price is not None and (named.price, named.facts) == (known.price, known.facts)


@pytest.mark.parametrize("options", [{}, {"apiVersion": "2024-10-21"}, {"apiVersion": "preview"}])
@pytest.mark.parametrize(
    ("model", "service"),
    [
        ("gpt-4.1", lambda: AzureChat(openai_chat.Answer((openai_chat.Text("Hi"),)))),
        ("gpt-5.3-codex", lambda: AzureResponses(openai_responses.Answer((openai_responses.Text("Hi"),)))),
    ],
)
async def test_a_resource_answers_at_each_kind_of_address(
    port: WireRouter, model: str, service: Any, options: dict[str, str]
) -> None:
    resource = service()
    async with serve_double(resource.double) as double:
        endpoint = (await resolve(port, f"azure/{model}", options, {"AZURE_OPENAI_ENDPOINT": double.url})).endpoint
        answer = await collect_answer(port, ModelRequest(endpoint=endpoint, messages=GO))
    assert answer.parts == (TextPart(text="Hi"),)
