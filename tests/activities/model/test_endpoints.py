"""Where a model is reached."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from activities.credentials.keys import Keys
from activities.model.addresses import normalise_address
from activities.model.endpoint import Wire
from activities.model.endpoints import EndpointResolver, ResolvedModel
from activities.model.headers import redact_failure
from activities.model.port import ModelEvent, ModelFacts, ModelRequest
from activities.model.providers import OPENAI_URL, check_provider
from activities.project.config_references import detach_from_file
from activities.redact import Redactor
from workflows.domain.config.config import Config
from workflows.domain.config.merge import deep_merge
from workflows.domain.config.provider_settings import Provider
from workflows.domain.errors import UsageError
from workflows.domain.ids import SessionId
from workflows.domain.provider_failure import ProviderFailure
from workflows.domain.usage import Price, PriceTier

AZURE = {"options": {"baseURL": "https://us.openai.azure.com/"}}
LOCAL = {"options": {"baseURL": "http://127.0.0.1:9/v1"}}


class EveryKey(dict[str, str]):
    def get(self, name: str, default: Any = None) -> Any:
        return "k"


class Catalogue:
    """A port that only knows one model."""

    async def facts(self, model: str) -> ModelFacts:
        known = ModelFacts(price=Price(input=Decimal(3)), context=200_000, max_output=64_000)
        return known if model == "anthropic/claude" else ModelFacts(responses=model.endswith("/some-codex"))

    def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[ModelEvent], None]:
        raise NotImplementedError

    async def aws_region(self, profile: str | None) -> str:
        raise NotImplementedError


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return Keys(tmp_path / "auth.json")


async def test_what_the_configuration_excludes_is_not_asked(keys: Keys) -> None:
    config = Config.model_validate({"provider": {"anthropic": {"blacklist": ["claude"]}}})

    with pytest.raises(UsageError, match=r"'anthropic/claude' is excluded by `provider\.anthropic\.blacklist`"):
        await EndpointResolver(keys, EveryKey(), Catalogue()).resolve("anthropic/claude", config)


async def test_a_known_provider_needs_only_its_key(keys: Keys) -> None:
    resolved = await reach(keys, "anthropic/claude", {}, {"ANTHROPIC_API_KEY": "k"})

    assert (resolved.endpoint.model, resolved.endpoint.base_url) == ("anthropic/claude", None)
    assert key(resolved) == "k"
    assert resolved.endpoint.provider == "anthropic"
    assert resolved.price == Price(input=Decimal(3))
    assert resolved.facts.context == 200_000


async def test_a_provider_goes_by_the_name_that_litellm_has_for_it(keys: Keys) -> None:
    resolved = await reach(keys, "google/gemini-2.5-pro", {}, {"GEMINI_API_KEY": "k"})

    assert resolved.endpoint.model == "gemini/gemini-2.5-pro"


async def test_an_own_endpoint_speaks_openais_protocol_and_needs_no_key(keys: Keys) -> None:
    resolved = await reach(keys, "local/llama", {"local": LOCAL})

    assert resolved.endpoint.model == "openai/llama"
    assert resolved.endpoint.base_url == "http://127.0.0.1:9/v1"
    assert resolved.endpoint.provider == "compatible"
    assert resolved.endpoint.key is None


async def test_references_in_the_configuration_are_looked_up(keys: Keys) -> None:
    options = {"baseURL": "{env:URL}", "apiKey": "{env:KEY}", "headers": {"x-team": "{env:TEAM}"}}
    environment = {"URL": "http://here/v1", "KEY": "k", "TEAM": "red"}

    resolved = await reach(keys, "local/llama", {"local": {"options": options}}, environment)

    assert (resolved.endpoint.base_url, key(resolved)) == ("http://here/v1", "k")
    assert resolved.endpoint.headers == {"x-team": "red"}


async def test_a_model_has_the_name_options_headers_price_and_limits_of_its_entry(keys: Keys) -> None:
    entry = {
        "id": "llama-3-70b",
        "options": {"reasoning_effort": "low"},
        "headers": {"x-model": "1"},
        "cost": {"input": 0.1, "output": 0.2, "context_over_200k": {"input": 0.4}},
        "limit": {"context": 8192, "output": 1024},
        "attachment": True,
    }

    resolved = await reach(keys, "local/llama", {"local": {**LOCAL, "models": {"llama": entry}}})

    assert resolved.endpoint.model == "openai/llama-3-70b"
    assert (resolved.options, resolved.endpoint.headers) == ({"reasoning_effort": "low"}, {"x-model": "1"})
    rates = {"input": Decimal("0.1"), "output": Decimal("0.2")}
    assert resolved.price == Price(**rates, tiers=(PriceTier(above=200_000, **rates | {"input": Decimal("0.4")}),))
    assert (resolved.facts.context, resolved.facts.max_output) == (8192, 1024)
    assert (resolved.facts.images, resolved.facts.documents) == (True, True)


@pytest.mark.parametrize(
    ("entry", "sees"),
    [
        ({"modalities": {"input": ["text", "image"], "output": ["text"]}}, (True, False)),
        ({"modalities": {"input": ["text", "pdf"]}, "attachment": True}, (False, True)),
        ({"modalities": {"input": ["text"]}}, (False, False)),
        ({}, (False, False)),
    ],
)
async def test_the_modalities_of_its_entry_say_what_a_model_sees(
    keys: Keys, entry: dict[str, Any], sees: tuple[bool, bool]
) -> None:
    facts = (await reach(keys, "local/llama", {"local": {**LOCAL, "models": {"llama": entry}}})).facts

    assert (facts.images, facts.documents) == sees


async def test_references_in_a_models_options_are_looked_up_at_any_depth_and_kept_out_of_failures(
    keys: Keys, tmp_path: Path
) -> None:
    (tmp_path / "tenant").write_text("tenant-of-a-file\n")
    plain: Any = {"max_tokens": 9, "prompt_cache_key": "plain-cache-key", "extra_body": {"tokens": ["plain-token"]}}
    given: Any = {"user": "{env:USER_ID}", "extra_body": {"tags": ["a", "b-{env:TAG}"], "tenant": "{file:tenant}"}}
    tree: Any = {"provider": {"local": {**LOCAL, "models": {"m": {"options": deep_merge(plain, given)}}}}}
    (file := tmp_path / "opencode.json").write_text(json.dumps(tree))
    stored: Any = detach_from_file(tree, file, tmp_path)

    resolved = await reach(keys, "local/m", stored["provider"], {"USER_ID": "somebody", "TAG": "tagged"})
    said = "no: somebody, tenant-of-a-file, plain-token, plain-cache-key"
    failure = redact_failure(ProviderFailure(provider="local", message=said), resolved.endpoint, Redactor())

    extra = {"tags": ["a", "b-tagged"], "tenant": "tenant-of-a-file", "tokens": ["plain-token"]}
    assert resolved.options == {"prompt_cache_key": "plain-cache-key", "extra_body": extra, "user": "somebody"}
    assert resolved.max_output == 9 and "plain-token" not in json.dumps(stored)
    assert not [each for each in said.removeprefix("no: ").split(", ") if each in failure.message]


async def test_the_configuration_chooses_a_key_by_its_name(keys: Keys) -> None:
    keys.set("anthropic", "of-work", "work")
    with pytest.raises(UsageError, match=r"Stored by name, for provider\.anthropic\.options\.keyName: work\."):
        await reach(keys, "anthropic/claude", {})

    configured = {"anthropic": {"options": {"keyName": "{env:TEAM}"}}}
    resolved = await reach(keys, "anthropic/claude", configured, {"TEAM": "work"})

    assert key(resolved) == "of-work"


async def test_a_key_name_from_an_unset_variable_takes_no_other_key(keys: Keys) -> None:
    keys.set("anthropic", "personal")
    with pytest.raises(UsageError, match=r"options\.keyName is '\{env:TEAM\}', which is empty here"):
        await reach(keys, "anthropic/claude", {"anthropic": {"options": {"keyName": "{env:TEAM}"}}})


async def test_a_missing_key_that_opencode_has_is_named(keys: Keys, tmp_path: Path) -> None:
    (folder := tmp_path / "opencode").mkdir()
    (folder / "auth.json").write_text('{"groq": {"type": "api", "key": "gsk_secret"}}')
    with pytest.raises(UsageError, match="OpenCode has one: `holdfast auth login groq --from opencode`") as caught:
        await reach(keys, "groq/some-model", {}, {"XDG_DATA_HOME": str(tmp_path)})
    assert "gsk_secret" not in str(caught.value)


async def test_an_unknown_model_has_no_price_and_one_that_costs_nothing_has_one(keys: Keys) -> None:
    free = {"models": {"llama": {"cost": {"input": 0, "output": 0}}}}

    assert (await reach(keys, "local/llama", {"local": LOCAL})).price is None
    assert (await reach(keys, "local/llama", {"local": {**LOCAL, **free}})).price == Price()


async def test_a_package_names_the_protocol(keys: Keys) -> None:
    proxy = {"npm": "@ai-sdk/anthropic", **LOCAL}

    resolved = await reach(keys, "proxy/claude", {"proxy": proxy})

    assert (resolved.endpoint.model, resolved.endpoint.provider) == ("anthropic/claude", "anthropic")


async def test_a_known_provider_keeps_its_protocol_at_another_address(keys: Keys) -> None:
    resolved = await reach(keys, "anthropic/claude", {"anthropic": LOCAL}, {"ANTHROPIC_API_KEY": "k"})

    assert resolved.endpoint.model == "anthropic/claude"
    assert resolved.endpoint.base_url == "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("model", "address", "provider"),
    [
        ("lmstudio/qwen", "http://127.0.0.1:1234/v1", "compatible"),
        ("llamafile/any", "http://127.0.0.1:8080/v1", "compatible"),
        ("ollama/llama3", "http://127.0.0.1:11434", "ollama_chat"),
        ("openai/gpt-5", "https://api.openai.com/v1", "openai"),
    ],
)
async def test_a_provider_without_a_configured_address_has_its_own(
    keys: Keys, model: str, address: str, provider: str
) -> None:
    endpoint = (await reach(keys, model, {}, {"OPENAI_API_KEY": "k"})).endpoint

    assert (endpoint.base_url, endpoint.provider) == (address, provider)


@pytest.mark.parametrize(
    ("model", "provider", "wire", "address"),
    [
        ("openai/gpt-4o", {}, Wire.RESPONSES, OPENAI_URL),
        ("openai/gpt-6-sol", {}, Wire.RESPONSES, OPENAI_URL),
        ("openai/gpt-4o-search-preview", {}, Wire.CHAT, OPENAI_URL),
        ("openai/gpt-4o", {"openai": LOCAL}, Wire.RESPONSES, "http://127.0.0.1:9/v1"),
        ("openai/gpt-3.5-turbo", {"openai": LOCAL}, Wire.CHAT, "http://127.0.0.1:9/v1"),
        ("openai/llama", {"openai": {"npm": "@ai-sdk/openai-compatible", **LOCAL}}, Wire.CHAT, "http://127.0.0.1:9/v1"),
        ("local/some-codex", {"local": LOCAL}, Wire.CHAT, "http://127.0.0.1:9/v1"),
        ("local/some-codex", {"local": {"npm": "@ai-sdk/openai", **LOCAL}}, Wire.RESPONSES, "http://127.0.0.1:9/v1"),
        ("azure/some-codex", {"azure": AZURE}, Wire.RESPONSES, "https://us.openai.azure.com/openai/v1"),
        ("azure/gpt-5.4", {"azure": AZURE}, Wire.RESPONSES, "https://us.openai.azure.com/openai/v1"),
        ("azure/my-deployment", {"azure": AZURE}, Wire.CHAT, "https://us.openai.azure.com/openai/v1"),
        ("xai/some-codex", {}, Wire.RESPONSES, "https://api.x.ai/v1"),
        ("xai/grok-4", {}, Wire.CHAT, "https://api.x.ai/v1"),
        ("cohere/command-a-03-2025", {}, Wire.CHAT, "https://api.cohere.ai/compatibility/v1"),
        ("opencode/claude-opus-4-5", {}, Wire.ANTHROPIC, "https://opencode.ai/zen"),
        ("opencode/gemini-3-pro", {}, Wire.GEMINI, "https://opencode.ai/zen/v1"),
        ("opencode/gpt-5.1-codex", {}, Wire.RESPONSES, "https://opencode.ai/zen/v1"),
        ("opencode/kimi-k2", {}, Wire.CHAT, "https://opencode.ai/zen/v1"),
        ("minimax/MiniMax-M2", {}, Wire.ANTHROPIC, "https://api.minimax.io/anthropic"),
        ("together_ai/some", {}, Wire.CHAT, "https://api.together.xyz/v1"),
        ("novita/some", {}, Wire.CHAT, "https://api.novita.ai/openai"),
        ("databricks/some", {}, Wire.LITELLM, None),
    ],
)
async def test_a_model_is_asked_in_the_protocol_that_reaches_it(
    keys: Keys, model: str, provider: dict[str, Any], wire: Wire, address: str | None
) -> None:
    environment = EveryKey()

    endpoint = (await reach(keys, model, provider, environment)).endpoint

    assert (endpoint.wire, endpoint.base_url) == (wire, address)


@pytest.mark.parametrize("name", ["gpt-6-sol", "gpt-5.6-sol", "gpt-5.3-codex"])
@pytest.mark.parametrize(
    ("id", "provider"),
    [
        ("openai", {"options": {"apiKey": "k"}}),
        ("openai", {"options": {"baseURL": "https://eu.api.openai.com/v1"}}),
        ("eu", {"options": {"baseURL": "https://us.api.openai.com/v1"}}),
        ("openai", {"options": {"baseURL": "https://gateway.ai.cloudflare.com/v1/me/mine/openai"}}),
        ("gateway", {"npm": "@ai-sdk/openai", "options": {"baseURL": "https://gateway.example/v1"}}),
    ],
)
async def test_openais_models_are_asked_by_responses_at_every_address(
    keys: Keys, id: str, provider: dict[str, Any], name: str
) -> None:
    resolved = await reach(keys, f"{id}/{name}", {id: provider})
    assert resolved.endpoint.wire is Wire.RESPONSES
    assert resolved.options["reasoning_effort"] == "medium"


async def test_a_host_that_only_looks_like_openais_is_a_persons_own(keys: Keys) -> None:
    for url in ("https://api.openai.com.example/v1", "https://notopenai.com/v1", "http://localhost/api.openai.com"):
        assert (await reach(keys, "mine/gpt-6-sol", {"mine": {"options": {"baseURL": url}}})).endpoint.wire is Wire.CHAT


@pytest.mark.parametrize(
    ("protocol", "written", "expected"),
    [
        ("openai", "http://here/v1/", "http://here/v1"),
        ("openai", "http://here/v1/chat/completions", "http://here/v1"),
        ("anthropic", "https://api.anthropic.com/v1", "https://api.anthropic.com"),
        ("anthropic", "https://api.anthropic.com/v1/messages/", "https://api.anthropic.com"),
        ("anthropic", "http://here/anthropic/", "http://here/anthropic"),
        ("gemini", "https://here/", "https://here/v1beta"),
        ("gemini", "https://here/v1beta/", "https://here/v1beta"),
        ("gemini", "https://here/v1", "https://here/v1"),
        ("azure", "https://us.openai.azure.com/openai", "https://us.openai.azure.com"),
        ("azure", "https://us.openai.azure.com/openai/v1/", "https://us.openai.azure.com"),
        (
            "azure",
            "https://us.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
            "https://us.openai.azure.com?api-version=2024-10-21",
        ),
        ("ollama_chat", "http://127.0.0.1:11434/api", "http://127.0.0.1:11434"),
        ("mistral", "https://here/v1/", "https://here/v1"),
    ],
)
def test_an_address_is_taken_as_people_write_it(protocol: str, written: str, expected: str) -> None:
    assert normalise_address(protocol, written) == expected


async def test_a_known_provider_configured_as_compatible_stays_at_its_address(keys: Keys) -> None:
    written = {"deepseek": {"npm": "@ai-sdk/openai-compatible"}}

    resolved = await reach(keys, "deepseek/deepseek-chat", written, {"DEEPSEEK_API_KEY": "k"})

    assert (resolved.endpoint.model, resolved.endpoint.base_url) == (
        "deepseek/deepseek-chat",
        "https://api.deepseek.com",
    )


async def test_the_package_of_a_company_names_its_address(keys: Keys) -> None:
    written = {"work": {"npm": "@ai-sdk/openai", "options": {"apiKey": "k"}}}

    assert (await reach(keys, "work/gpt-5", written)).endpoint.base_url == "https://api.openai.com/v1"


@pytest.mark.parametrize(
    ("model", "provider", "message"),
    [
        ("claude", {}, "names no provider"),
        ("anthropic/claude", {}, r"ANTHROPIC_API_KEY.*holdfast auth login anthropic"),
        ("/claude", {}, "names no provider before the '/'"),
        ("anthropic/", {}, "names no model after the '/'"),
        ("antropic/claude", {}, "no provider 'antropic'. Did you mean 'anthropic'"),
        ("new-one/x", {}, r"provider.new-one.options.baseURL in opencode.json"),
        (
            "Mistral-/x",
            {"mistral-eu": LOCAL},
            r"Did you mean 'mistral'\? Configured: mistral-eu\. Built in: anthropic,",
        ),
        ("mine/x", {"mine": {"models": {"x": {}}}}, r"'mine' has no address.*provider.mine.options.baseURL"),
        ("mine/x", {"mine": {"options": {"baseURL": "{env:EMPTY}"}}}, r"'mine' has no address"),
        ("novita/x", {}, r"NOVITA_API_KEY.*holdfast auth login novita"),
        ("petals/x", {}, r"'petals', without tools"),
        (
            "github-copilot/gpt-5",
            {},
            "'github-copilot' has no keys: GitHub lets only programs that it has an agreement",
        ),
        (
            "github_copilot/gpt-5",
            {},
            "'github_copilot' has no keys: GitHub lets only programs that it has an agreement",
        ),
        ("chatgpt/gpt-5", {}, "log in to 'openai' with an API key"),
        ("local/x", {"local": {"options": {**LOCAL["options"], "apiKey": "{env:MY_KEY}"}}}, r"\{env:MY_KEY\}"),
        ("local/x", {"local": {"npm": "left-pad", **LOCAL}}, "left-pad"),
        ("local/x", {"local": {"npm": "@ai-sdk/openai-compatible"}}, r"local.*no address.*baseURL.*Nothing was sent"),
        ("perplexity/some-codex", {"perplexity": {"options": {"apiKey": "k"}}}, "by the Responses protocol only"),
        ("openai/x", {"openai": {"npm": "@ai-sdk/anthropic"}}, r"openai.*no address.*baseURL"),
    ],
)
async def test_what_cannot_be_reached_is_refused_with_the_way_out(
    keys: Keys, model: str, provider: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        await reach(keys, model, provider)


async def test_a_key_makes_no_provider_of_a_misspelt_name(keys: Keys) -> None:
    with pytest.raises(UsageError, match="There is no provider 'antropic'"):
        await reach(keys, "antropic/claude", {}, {"ANTROPIC_API_KEY": "k"})


def test_a_message_about_a_provider_names_few_of_them() -> None:
    with pytest.raises(UsageError) as caught:
        check_provider("nope", {f"own-{number:02}": Provider() for number in range(40)})

    assert "Configured: own-00, own-01, " in str(caught.value) and "own-07 and 32 more." in str(caught.value)
    assert len(str(caught.value)) < 500


async def test_a_key_never_shows_in_the_text_of_what_was_reached(keys: Keys) -> None:
    resolved = await reach(keys, "anthropic/claude", {}, {"ANTHROPIC_API_KEY": "sk-secret"})

    assert "sk-secret" not in repr(resolved)


async def reach(
    keys: Keys, model: str, provider: dict[str, Any], environment: Mapping[str, str] | None = None
) -> ResolvedModel:
    config = Config.model_validate({"provider": provider})
    return await EndpointResolver(keys, {} if environment is None else environment, Catalogue()).resolve(model, config)


def key(resolved: ResolvedModel) -> str | None:
    return resolved.endpoint.key.get_secret_value() if resolved.endpoint.key else None


async def test_a_header_of_ones_own_replaces_that_of_the_key(keys: Keys) -> None:
    options = {"apiKey": "k", "headers": {"Authorization": "Basic x"}, "baseURL": "http://127.0.0.1:9/v1"}

    endpoint = (await reach(keys, "mine/llama", {"mine": {"options": options}})).endpoint

    assert {**endpoint.authorization, **endpoint.headers} == {"Authorization": "Basic x"}


@pytest.mark.parametrize(
    ("model", "options", "keyed"),
    [
        ("openai/gpt-5", {}, True),
        ("openai/gpt-5", {"setCacheKey": False}, False),
        ("anthropic/claude", {}, False),
        ("local/llama", {}, False),
        ("local/llama", {"setCacheKey": True}, True),
    ],
)
async def test_the_session_is_the_cache_key_where_a_provider_takes_one(
    keys: Keys, model: str, options: dict[str, Any], keyed: bool
) -> None:
    id = model.partition("/")[0]
    address = LOCAL["options"] if id == "local" else {}
    provider = {id: {"options": {**address, **options}}}
    resolved = await reach(keys, model, provider, {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"})

    assert resolved.request((), session=SessionId("ses_1")).cache_key == ("ses_1" if keyed else None)
