"""Which models are listed, and how."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from activities.credentials.keys import Keys
from activities.model import litellm_table
from activities.model.catalogue import ModelChoice, facts_of, list_models, list_providers
from activities.model.endpoints import EndpointResolver
from activities.model.model_table import ModelTables
from activities.model.port import ModelFacts
from workflows.domain.config.config import Config
from workflows.domain.config.provider_settings import Provider
from workflows.domain.errors import UsageError
from workflows.domain.usage import Price

TODAY = date(2026, 6, 1)
LIMITS = {"max_input_tokens": 1000, "max_output_tokens": 100}
CHAT = {"mode": "chat", **LIMITS}
LOCAL = {"options": {"baseURL": "http://127.0.0.1:9/v1"}}
TABLE: litellm_table.ModelTable = {
    "claude-x": {**CHAT, "litellm_provider": "anthropic", "input_cost_per_token": 3e-6, "output_cost_per_token": 15e-6},
    "claude-old": {**CHAT, "litellm_provider": "anthropic", "deprecation_date": "2026-05-31"},
    "claude-picture": {**LIMITS, "mode": "image_generation", "litellm_provider": "anthropic"},
    "claude-song": {**CHAT, "litellm_provider": "anthropic", "supported_output_modalities": ["audio"]},
    "claude-mute": {**CHAT, "litellm_provider": "anthropic", "supports_function_calling": False},
    "gpt-x": {**CHAT, "litellm_provider": "openai"},
    "gpt-x-codex": {**LIMITS, "mode": "responses", "litellm_provider": "openai"},
    "ft:gpt-x": {**CHAT, "litellm_provider": "openai"},
    "gemini/gemini-x": {**CHAT, "litellm_provider": "gemini"},
    "gemini-x": {**CHAT, "litellm_provider": "vertex_ai-language-models"},
    "vertex_ai/claude-x": {**CHAT, "litellm_provider": "vertex_ai-anthropic_models"},
    "together_ai/org/model": {"mode": "chat", "litellm_provider": "together_ai", "input_cost_per_token": 0.0},
    "together-ai-up-to-4b": {"mode": "chat", "litellm_provider": "together_ai", "input_cost_per_token": 1e-6},
    "command-x": {**CHAT, "litellm_provider": "cohere_chat"},
    "jamba-x": {**CHAT, "litellm_provider": "ai21"},
    "anthropic.claude-x": {**CHAT, "litellm_provider": "bedrock_converse"},
    "bedrock/us-east-1/anthropic.claude-x": {**CHAT, "litellm_provider": "bedrock"},
    "azure/gpt-x": {**CHAT, "litellm_provider": "azure"},
    "azure/eu/gpt-x": {**CHAT, "litellm_provider": "azure"},
    "perplexity/some-codex": {**LIMITS, "mode": "responses", "litellm_provider": "perplexity"},
    "novita/org/model": {**CHAT, "litellm_provider": "novita"},
}


PLANS = ("zai", "zai-coding-plan")


class TablePort:
    """A port that knows the release's table."""

    def __init__(self) -> None:
        self.table = ModelTables().all()

    async def facts(self, model: str) -> ModelFacts:
        return litellm_table.find_facts(self.table, model)

    stream = aws_region = None


class EveryKey(dict[str, str]):
    def get(self, name: str, default: Any = None) -> Any:
        region = "sa-east-1"  # where Bedrock's models have the names of the table
        keyed = name.endswith(("_KEY", "_TOKEN", "_CLOUD_PROJECT", "_RESOURCE_NAME"))
        return region if name == "AWS_REGION" else "k" if keyed else default


@pytest.mark.parametrize(
    ("id", "expected"),
    [
        ("anthropic", ["anthropic/claude-x"]),
        ("openai", ["openai/gpt-x", "openai/gpt-x-codex"]),
        ("google", ["google/gemini-x"]),
        ("gemini", ["gemini/gemini-x"]),
        ("google-vertex", ["google-vertex/claude-x", "google-vertex/gemini-x"]),
        ("together", ["together/org/model"]),
        ("cohere", ["cohere/command-x"]),
        ("ai21", ["ai21/jamba-x"]),
        ("amazon-bedrock", ["amazon-bedrock/anthropic.claude-x"]),
        ("azure", ["azure/gpt-x"]),
        ("novita", ["novita/org/model"]),
        ("perplexity", []),
        ("lmstudio", []),
        ("ollama", []),
    ],
)
def test_models_of_the_table_are_named_as_they_are_chosen(id: str, expected: list[str]) -> None:
    assert [each.model for each in listed(id)] == expected


def test_a_configured_model_has_its_own_name_limits_and_price() -> None:
    entry = {"name": "Big", "limit": {"context": 8192, "output": 512}, "cost": {"input": 0.5, "output": 1}}

    (choice,) = listed("own", **LOCAL, models={"llama": entry})

    assert (choice.model, choice.name, choice.configured) == ("own/llama", "Big", True)
    assert (choice.facts.context, choice.facts.max_output) == (8192, 512)
    assert choice.facts.price == Price(input=Decimal("0.5"), output=Decimal(1))


def test_a_configured_model_of_a_known_provider_stands_before_those_of_the_table_with_what_is_known_of_it() -> None:
    found = listed("anthropic", models={"mine": {"id": "claude-x"}, "claude-x": {"name": "X"}})

    assert [(each.model, each.configured) for each in found] == [("anthropic/mine", True), ("anthropic/claude-x", True)]
    assert all(each.facts.price == Price(input=Decimal(3), output=Decimal(15)) for each in found)


def test_an_address_of_ones_own_has_what_is_described_or_else_what_the_company_has() -> None:
    assert [each.model for each in listed("openai", **LOCAL, models={"llama": {}})] == ["openai/llama"]
    assert [each.model for each in listed("anthropic", **LOCAL)] == ["anthropic/claude-x"]


def test_a_wrong_package_is_reported() -> None:
    with pytest.raises(UsageError, match="left-pad"):
        listed("own", npm="left-pad", **LOCAL)


@pytest.mark.parametrize(
    ("configured", "stored", "environment", "expected"),
    [
        ((), (), {}, []),
        (("own",), (), {}, ["own"]),
        ((), (), {"GEMINI_API_KEY": "k", "OPENAI_API_KEY": ""}, ["google"]),
        ((), (), {"GOOGLE_CLOUD_PROJECT": "p"}, ["google-vertex"]),
        ((), ("gemini",), {"GEMINI_API_KEY": "k"}, ["google", "gemini"]),
        (("lmstudio", "gemini"), (), {"OPENAI_API_KEY": "k", "GEMINI_API_KEY": "k"}, ["gemini", "lmstudio", "openai"]),
        ((), ("novita", "nobody"), {"TOGETHER_AI_API_KEY": "k"}, ["novita", "together_ai"]),
    ],
)
def test_providers_are_those_with_a_key_or_a_configuration(
    configured: tuple[str, ...], stored: tuple[str, ...], environment: Mapping[str, str], expected: list[str]
) -> None:
    assert list_providers(configured, stored, environment) == expected


def test_all_providers_are_each_there_once_and_none_that_no_agent_can_work_with() -> None:
    every = list_providers((), (), {}, every=True)

    assert {"anthropic", "google", "together", "novita-ai", "ollama"} <= {*every}
    assert not {"gemini", "together_ai", "fireworks-ai", "ollama_chat", "novita", "replicate", "chatgpt"} & {*every}


def test_a_service_of_ones_own_has_no_price_of_anothers_model_unless_configured() -> None:
    own = Provider.model_validate({"options": {"baseURL": "http://10.0.0.1/v1"}, "models": {"gpt-4o": {}}})
    priced = Provider.model_validate(
        {**own.model_dump(by_alias=True), "models": {"gpt-4o": {"cost": {"input": 1, "output": 2}}}}
    )
    gateway = Provider.model_validate({"options": {"baseURL": "http://10.0.0.1/v1"}})
    other_key = Provider.model_validate({"npm": "@ai-sdk/openai", "options": {"keyName": "work"}})

    facts = facts_of("mine/gpt-4o", {"mine": own}, ModelTables())

    assert facts.price is None and facts.context == facts_of("openai/gpt-4o", {}, ModelTables()).context
    assert facts_of("mine/gpt-4o", {"mine": priced}, ModelTables()).price == Price(input=Decimal(1), output=Decimal(2))
    assert facts_of("openai/gpt-4o", {"openai": gateway}, ModelTables()).price is not None
    assert facts_of("work/gpt-4o", {"work": other_key}, ModelTables()).price is not None


def test_a_subscription_has_no_price_for_tokens_unless_configured() -> None:
    table = TablePort().table
    by_token, by_plan = ({each.model.partition("/")[2]: each.facts for each in installed(id, table)} for id in PLANS)
    name = next(name for name, facts in by_token.items() if facts.price and not facts.price.free)
    written = {PLANS[1]: Provider.model_validate({"models": {name: {"cost": {"input": 1, "output": 2}}}})}
    described = next(list_models(PLANS[1], written, table, date.today()))

    assert by_plan == {name: facts.model_copy(update={"price": None}) for name, facts in by_token.items()}
    assert described.facts.price == Price(input=Decimal(1), output=Decimal(2))


async def test_every_listed_model_of_the_installed_table_is_reached_by_its_entry(tmp_path: Path) -> None:
    port, config = TablePort(), Config()
    endpoints = EndpointResolver(Keys(tmp_path / "auth.json"), EveryKey(), port)  # type: ignore[arg-type]  # asks nothing
    every = [choice for id in list_providers((), (), {}, every=True) for choice in installed(id, port.table)]

    resolved = [await endpoints.resolve(each.model, config) for each in every]

    names = [each.endpoint.model for each in resolved]
    assert [name for name in names if not {name, name.partition("/")[2]} & port.table.keys()] == []
    assert [each.facts for each in resolved] == [each.facts for each in every]
    assert {"anthropic", "openai", "google", "mistral", "groq"} <= {each.model.partition("/")[0] for each in every}


def installed(id: str, table: litellm_table.ModelTable) -> list[ModelChoice]:
    return [*list_models(id, {}, table, date.today())]


def listed(id: str, **written: Any) -> list[ModelChoice]:
    configured = {id: Provider.model_validate(written)} if written else {}
    return [*list_models(id, configured, TABLE, TODAY)]
