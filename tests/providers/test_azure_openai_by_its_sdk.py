"""The doubles of Azure are as OpenAI's clients for Azure expect them, and refuse what Azure refuses."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest
from openai import AsyncAzureOpenAI, AsyncOpenAI, AuthenticationError, BadRequestError, NotFoundError, RateLimitError

from tests.providers.azure_openai import KEY, RULES, VERSION, AzureChat, AzureResponses, error_body, filtered_prompt
from tests.providers.openai_chat import Answer, Call, Text
from tests.providers.openai_responses import Answer as ResponsesAnswer
from tests.providers.openai_responses import Text as ResponsesText
from tests.providers.provider_double import RefusedRequest, serve_double
from tests.providers.raw_requests import refusal

READS: Final = Answer((Text("Grün: ✅"), Call("read", '{"path": "a"}')))
GO: Final[Any] = [{"role": "user", "content": "go"}]
CHAT: Final = "/openai/v1/chat/completions"
DEPLOYED: Final = f"/openai/deployments/gpt-4.1/chat/completions?api-version={VERSION}"
ASKED: Final[dict[str, Any]] = {"model": "gpt-4.1", "messages": GO, "stream": True}


@asynccontextmanager
async def deployment(service: AzureChat) -> AsyncIterator[AsyncAzureOpenAI]:
    """The client for the addresses of deployments, with Azure's own header."""
    async with serve_double(service.double):
        url = service.double.url
        async with AsyncAzureOpenAI(azure_endpoint=url, api_key=KEY, api_version=VERSION, max_retries=0) as client:
            yield client


@asynccontextmanager
async def v1(service: AzureChat | AzureResponses) -> AsyncIterator[AsyncOpenAI]:
    """OpenAI's plain client, at the addresses of v1."""
    async with serve_double(service.double):
        url = f"{service.double.url}/openai/v1"
        async with AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0) as client:
            yield client


@pytest.mark.parametrize("connect", [deployment, v1])
async def test_the_clients_understand_a_chat_stream(connect: Any) -> None:
    service = AzureChat(READS)
    async with connect(service) as client:
        stream = await client.chat.completions.create(**ASKED, stream_options={"include_usage": True})
        chunks = [chunk async for chunk in stream]

    assert chunks[0].choices == [] and "prompt_filter_results" in (chunks[0].model_extra or {})
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    calls = [call.function for delta in deltas for call in delta.tool_calls or ()]
    assert "".join(delta.content or "" for delta in deltas) == "Grün: ✅"
    assert calls[0].name == "read" and "".join(call.arguments for call in calls) == '{"path": "a"}'
    assert chunks[-1].usage is not None and chunks[-1].usage.total_tokens == 130


async def test_the_client_understands_a_stream_of_responses() -> None:
    async with v1(AzureResponses(ResponsesAnswer((ResponsesText("Grün"),)))) as client:
        stream = await client.responses.create(model="gpt-5.3-codex", input="go", stream=True)
        events = [event async for event in stream]

    (completed,) = [event for event in events if event.type == "response.completed"]
    assert completed.response.output_text == "Grün"
    assert (completed.response.model_extra or {})["content_filters"][0]["blocked"] is False


@pytest.mark.parametrize("connect", [deployment, v1])
async def test_the_clients_report_a_missing_deployment(connect: Any) -> None:
    async with connect(AzureChat(READS)) as client:
        with pytest.raises(NotFoundError, match="deployment for this resource does not exist") as caught:
            await client.chat.completions.create(**{**ASKED, "model": "gpt-9"})
    assert caught.value.code == "DeploymentNotFound"


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, filtered_prompt(), BadRequestError),
        (
            429,
            error_body("429", "Requests have exceeded token rate limit. Please retry after 34 seconds."),
            RateLimitError,
        ),
        (401, error_body("401", RULES["key"].words), AuthenticationError),
    ],
)
async def test_the_client_reports_a_failure(status: int, body: dict[str, Any], kind: type[Exception]) -> None:
    service = AzureChat(READS)

    def refuse(*_: object) -> Any:
        raise RefusedRequest(status, body)

    service.double.check = refuse
    async with deployment(service) as client:
        with pytest.raises(kind, match=body["error"]["message"].partition("(")[0]):
            await client.chat.completions.create(**ASKED)


WRONG: Final = {  # rule → address, header, the model's name
    "key": (DEPLOYED, {"authorization": f"Bearer {KEY}"}, "gpt-4.1"),
    "address": ("/v1/chat/completions", {"api-key": KEY}, "gpt-4.1"),
    "deployment": (CHAT, {"api-key": KEY}, "gpt-9"),
    "version": (f"{CHAT}?api-version={VERSION}", {"api-key": KEY}, "gpt-4.1"),
    "query": (f"{CHAT}?api-version=preview&beta=true", {"api-key": KEY}, "gpt-4.1"),
}


@pytest.mark.parametrize("rule", RULES)
async def test_what_the_service_refuses_is_refused(rule: str) -> None:
    path, headers, model = WRONG[rule]

    status, text = await refusal(AzureChat(READS).double, path, {**ASKED, "model": model}, headers)

    assert status == {"key": 401, "address": 404, "deployment": 404}.get(rule, 400)
    assert RULES[rule].words.partition("{}")[0] in json.loads(text)["error"]["message"]


@pytest.mark.parametrize("path", [CHAT, DEPLOYED])
async def test_what_openai_refuses_is_refused(path: str) -> None:
    status, text = await refusal(AzureChat(READS).double, path, {**ASKED, "reasoning_content": "Hm."}, {"api-key": KEY})

    assert (status, "Unrecognized request argument" in text) == (400, True)


@pytest.mark.parametrize(
    "path",
    [
        "/openai/deployments/gpt-4.1/chat/completions",
        "/openai/deployments/gpt-4.1/chat/completions?api-version=v1",
        f"/openai/deployments/gpt-4.1/responses?api-version={VERSION}",
        "/openai/v1/responses",
    ],
)
async def test_an_address_that_is_not_there_is_not_found(path: str) -> None:
    status, _ = await refusal(AzureChat(READS).double, path, ASKED, {"api-key": KEY})

    assert status == 404


def test_every_rule_has_its_wrong_request() -> None:
    assert WRONG.keys() == RULES.keys()
