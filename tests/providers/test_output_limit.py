"""The limit of an answer, from the configuration to the provider's request."""

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from activities.credentials.keys import Keys
from activities.model.endpoints import EndpointResolver
from activities.model.port import ModelRequest
from activities.model.wires.router import WireRouter
from tests.providers import anthropic_messages, google_gemini, openai_responses
from tests.providers.double_requests import GO, READ, collect_answer
from tests.providers.provider_double import ProviderDouble, RefusedRequest, StreamPlan, serve_double
from workflows.domain.config.config import Config
from workflows.domain.errors import ModelError


class Ask:
    """Asks a configuration's model, as a step does."""

    def __init__(self, port: WireRouter, keys: Keys) -> None:
        self.port = port
        self.keys = keys

    async def __call__(
        self, double: ProviderDouble, model: str, entry: dict[str, Any], key: str, package: str | None = None
    ) -> dict[str, Any]:
        """The body that the double got; `model` is the provider's id."""
        provider, _, name = model.partition("/")
        async with serve_double(double):
            address = f"{double.url}/v1" if provider == "own" else double.url
            written = {"npm": package, "options": {"baseURL": address, "apiKey": key}, "models": {name: entry}}
            config = Config.model_validate({"provider": {provider: written}})
            resolved = await EndpointResolver(self.keys, {}, self.port).resolve(model, config)
            asked = ModelRequest(
                endpoint=resolved.endpoint,
                messages=GO,
                tools=(READ,),
                max_output=resolved.max_output,
                options=resolved.options,
            )
            await collect_answer(self.port, asked)
        return double.asked[0]


@pytest.fixture
def ask(port: WireRouter, tmp_path: Path) -> Ask:
    return Ask(port, Keys(tmp_path / "auth.json"))


SONNET, UNKNOWN = "anthropic/claude-sonnet-4-5", "anthropic/glm-5"
BUDGET = {"thinking": {"type": "enabled", "budget_tokens": 4000}}


def limited(output: int, **more: Any) -> dict[str, Any]:
    return {"limit": {"context": 200_000, "output": output}, **more}


@pytest.mark.parametrize(
    ("model", "entry", "tokens"),
    [
        (UNKNOWN, {}, 32_000),
        (SONNET, {}, 32_000),  # it could write 64,000
        (UNKNOWN, limited(8192), 8192),
        (SONNET, limited(8192), 8192),
        (UNKNOWN, limited(128_000), 32_000),
        (SONNET, {"options": BUDGET}, 36_000),
        (UNKNOWN, {"options": BUDGET}, 36_000),
        (SONNET, {"options": {"thinking": {"type": "enabled", "budgetTokens": 4000}}}, 36_000),
        (SONNET, {"options": {"thinking": {"type": "enabled", "budget_tokens": 60_000}}}, 64_000),
        (UNKNOWN, limited(8192, options=BUDGET), 8192),
        (UNKNOWN, limited(64_000, options=BUDGET), 36_000),
        (SONNET, {"options": {"reasoning_effort": "high"}}, 36_096),
        (SONNET, {"options": {"max_tokens": 50_000}}, 50_000),
        (SONNET, {"options": {"maxOutputTokens": 50_000, **BUDGET}}, 50_000),
        (SONNET, limited(8192, options={"max_completion_tokens": 50_000}), 50_000),
    ],
)
async def test_anthropic_is_asked_for_what_the_model_can_write_and_no_more_than_32000(
    ask: Ask, model: str, entry: dict[str, Any], tokens: int
) -> None:
    service = anthropic_messages.Anthropic(anthropic_messages.Answer((anthropic_messages.Text("Hi"),)))

    body = await ask(service.double, model, entry, anthropic_messages.KEY)

    assert body["max_tokens"] == tokens
    assert "maxOutputTokens" not in body


@pytest.mark.parametrize(
    ("model", "entry", "tokens"),
    [
        ("google/gemini-2.5-pro", {}, 32_000),
        ("google/gemini-nobody-knows", {}, 32_000),
        ("google/gemini-2.5-pro", limited(8192), 8192),
        ("google/gemini-2.5-pro", {"options": {"thinking": {"type": "enabled", "budget_tokens": 4096}}}, 36_096),
        ("google/gemini-2.5-pro", {"options": {"thinkingConfig": {"thinkingBudget": 4096}}}, 36_096),
        ("google/gemini-2.5-pro", {"options": {"maxOutputTokens": 50_000}}, 50_000),
    ],
)
async def test_gemini_has_the_limit_in_its_generation_config(
    ask: Ask, model: str, entry: dict[str, Any], tokens: int
) -> None:
    service = google_gemini.Gemini(google_gemini.Answer((google_gemini.Text("Hi"),)))

    body = await ask(service.double, model, entry, google_gemini.KEY)

    config = body["generationConfig"]
    assert config.get("max_output_tokens", config.get("maxOutputTokens")) == tokens


LIMITS = [
    (limited(8192), 8192),
    (limited(128_000), 57_000),  # 25,000 of it for thoughts
    (limited(128_000, reasoning=False), 32_000),
    ({"options": {"max_tokens": 50_000}}, 50_000),
    (limited(8192, options={"maxOutputTokens": 50_000}), 50_000),
]


@pytest.mark.parametrize(("entry", "tokens"), [({}, 57_000), *LIMITS])
async def test_responses_have_the_limit_that_is_known_or_configured(
    ask: Ask, entry: dict[str, Any], tokens: int
) -> None:
    service = openai_responses.OpenAI(openai_responses.Answer((openai_responses.Text("Hi"),)))

    body = await ask(service.double, "own/gpt-5.3-codex", entry, openai_responses.KEY, "@ai-sdk/openai")

    assert body.get("max_output_tokens") == tokens


@pytest.mark.parametrize(("entry", "tokens"), [({}, None), *LIMITS])
async def test_an_endpoint_of_ones_own_has_a_limit_where_one_is_configured(
    ask: Ask, entry: dict[str, Any], tokens: int | None
) -> None:
    body = await refused(ask, "own/claude-sonnet-4-5", entry)

    assert body.get("max_tokens") == tokens
    assert "maxOutputTokens" not in body


async def test_the_name_that_newer_models_of_openai_want_goes_out_as_it_stands(ask: Ask) -> None:
    body = await refused(ask, "own/gpt-5", limited(8192, options={"max_completion_tokens": 9000}))

    assert (body["max_completion_tokens"], "max_tokens" in body) == (9000, False)


@pytest.mark.parametrize(
    ("entry", "tokens"),
    [({}, 32_000), (limited(8192), 8192), ({"options": {"num_predict": 100}}, 100)],
)
async def test_ollama_gets_the_number_of_tokens_to_predict(ask: Ask, entry: dict[str, Any], tokens: int) -> None:
    body = await refused(ask, "ollama/nobody-knows-it", entry)

    assert body["options"]["num_predict"] == tokens


@pytest.mark.parametrize(
    ("model", "entry", "tokens"),
    [
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", {}, 32_000),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", limited(8192), 8192),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", {"options": BUDGET}, 36_000),
        ("anthropic.claude-3-5-haiku-20241022-v1:0", {}, 8192),  # all that it can write
    ],
)
async def test_bedrock_has_the_limit_in_its_inference_config(
    ask: Ask, model: str, entry: dict[str, Any], tokens: int
) -> None:
    body = await refused(ask, f"bedrock/{model}", entry)

    assert body["inferenceConfig"]["maxTokens"] == tokens


@pytest.mark.parametrize(
    ("model", "entry", "tokens"),
    [
        ("mistral/mistral-large-latest", {}, 32_000),
        ("cerebras/gpt-oss-120b", {}, 32_768),  # all that it can write
        ("deepseek/deepseek-reasoner", {}, 57_000),  # it thinks, and could write 65,536
        ("mistral/nobody-knows-it", {}, None),
        ("mistral/nobody-knows-it", limited(8192), 8192),
    ],
)
async def test_a_hosted_provider_has_the_limit_that_is_known_or_configured(
    ask: Ask, model: str, entry: dict[str, Any], tokens: int | None
) -> None:
    assert (await refused(ask, model, entry)).get("max_tokens") == tokens


async def refused(ask: Ask, model: str, entry: dict[str, Any]) -> dict[str, Any]:
    """The body sent to a service that takes no request."""

    def refuse(request: web.Request, body: dict[str, Any]) -> StreamPlan:
        raise RefusedRequest(400, {"error": {"message": "no"}})

    double = ProviderDouble(refuse)
    with pytest.raises(ModelError):
        await ask(double, model, entry, "k")
    return double.asked[0]
