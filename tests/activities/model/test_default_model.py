"""Which model works where none is named."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from activities.credentials.keys import Keys
from activities.model.default_model import NO_KEY, DefaultModels, main_model, newest_main
from activities.model.model_table import ModelTables
from workflows.domain.config.config import Config
from workflows.domain.errors import UsageError

LOCAL = {"options": {"baseURL": "http://127.0.0.1:9/v1"}, "models": {"qwen": {}, "llama": {}}}
TABLE = ModelTables().all()
ANTHROPIC, OPENAI = [str(main_model(id, Config(), TABLE, date.today())) for id in ("anthropic", "openai")]


def default_models(folder: Path, *stored: str, **environment: str) -> DefaultModels:
    keys = Keys(folder / "auth.json")
    for provider in stored:
        keys.set(provider, "a-key")
    return DefaultModels(keys, environment, ModelTables())


def config(**fields: Any) -> Config:
    return Config.model_validate(fields)


@pytest.mark.parametrize(
    ("names", "newest"),
    [
        ("claude-haiku-5-5 claude-opus-5-5 claude-sonnet-5 claude-sonnet-5-5", "claude-sonnet-5-5"),
        ("claude-sonnet-4-6 claude-sonnet-4-6-20260205 claude-sonnet-4-20250514", "claude-sonnet-4-6"),
        ("gpt-5.5 gpt-5.5-mini gpt-5.5-pro gpt-audio o3", "gpt-5.5"),
        ("gpt-5.6 gpt-5.6-sol gpt-6-astra gpt-6-luna gpt-6-sol gpt-7-preview", "gpt-6-sol"),
        ("gpt-5.6-sol gpt-5.6", "gpt-5.6"),
        ("gemini-2.5-pro gemini-3.1-pro-preview gemini-3.8-flash", "gemini-2.5-pro"),
        ("grok-4.20 grok-4.7 grok-4.3", "grok-4.7"),
        ("mistral-large-2512 mistral-medium-3.5 mistral-large-4 mistral-large-latest", "mistral-large-4"),
        ("openai/gpt-6-sol anthropic/claude-sonnet-4.5 z-ai/glm-5", "anthropic/claude-sonnet-4.5"),
        ("zai-org/GLM-5.3 zai-org/GLM-4.7", "zai-org/GLM-5.3"),
        ("sonar sonar-pro", None),
    ],
)
def test_the_newest_of_a_companys_main_models_is_found_by_name(names: str, newest: str | None) -> None:
    assert newest_main(names.split()) == newest


def test_each_large_company_has_a_main_model_in_the_release_s_table() -> None:
    ids = "anthropic openai google openrouter xai mistral deepseek moonshotai zai minimax groq alibaba together vercel"
    found = {id: main_model(id, Config(), TABLE, date.today()) for id in ids.split()}

    assert None not in found.values(), found
    assert ANTHROPIC.startswith("anthropic/claude-sonnet-") and OPENAI.startswith("openai/gpt-")


def test_the_only_provider_with_a_key_has_it_chosen(tmp_path: Path) -> None:
    assert default_models(tmp_path / "1", "anthropic").choose(Config()) == ANTHROPIC
    assert default_models(tmp_path / "2", OPENAI_API_KEY="k").choose(Config()) == OPENAI
    tokens = dict.fromkeys(("GITHUB_TOKEN", "HF_TOKEN", "AWS_PROFILE", "GOOGLE_CLOUD_PROJECT"), "x")
    shell = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "", **tokens}
    assert default_models(tmp_path / "3", **shell).choose(Config()) == ANTHROPIC


@pytest.mark.parametrize(
    ("fields", "chosen"),
    [
        ({"provider": {"local": LOCAL}}, "local/qwen"),
        ({"provider": {"local": LOCAL}, "disabled_providers": ["local"]}, None),
        ({"provider": {"openai": {"options": {"timeout": 1000}}}}, OPENAI),
        ({"provider": {"openai": {"models": {"o9": {}}}}}, OPENAI),
        ({"provider": {"openai": {"whitelist": ["gpt-5.5"]}}}, "openai/gpt-5.5"),
        ({"enabled_providers": ["anthropic"]}, ANTHROPIC),
        ({"provider": {"groq": {"models": {"any": {}}}}, "enabled_providers": ["openai"]}, OPENAI),
    ],
    ids=["own", "disabled", "options", "described", "whitelist", "enabled", "no key"],
)
def test_configured_providers_that_can_be_asked_come_first(
    tmp_path: Path, fields: dict[str, Any], chosen: str | None
) -> None:
    models = default_models(tmp_path, "anthropic", "openai")
    if chosen is None:
        assert models.candidates(config(**fields)) == ()
    else:
        assert models.choose(config(**fields)) == chosen


def test_several_are_named_and_none_is_taken(tmp_path: Path) -> None:
    models = default_models(tmp_path, "openai", ANTHROPIC_API_KEY="k")

    with pytest.raises(UsageError, match=rf"2 providers can be asked\. Name one with -m: {ANTHROPIC}, {OPENAI}\."):
        models.choose(Config())


def test_without_one_the_reason_names_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as without_key:
        default_models(tmp_path).choose(Config())
    with pytest.raises(UsageError, match=r"no main model of perplexity is known: .* `holdfast models perplexity`"):
        default_models(tmp_path, "perplexity").choose(Config())

    assert str(without_key.value) == NO_KEY


def test_a_key_that_has_a_name_counts_only_where_the_configuration_chooses_it(tmp_path: Path) -> None:
    models = default_models(tmp_path)
    models.keys.set("anthropic", "a-key", "work")

    assert models.candidates(Config()) == ()
    named = config(provider={"anthropic": {"options": {"keyName": "work"}}})
    assert models.choose(named) == ANTHROPIC


def test_the_newest_model_of_a_family_is_one_of_the_sessions_provider_else_of_one_with_a_key(tmp_path: Path) -> None:
    models = default_models(tmp_path / "1", "openai", "anthropic")
    own = config(
        provider={"local": LOCAL | {"models": {name: {} for name in ("opus-9", "claude-opus-5", "claude-opus-4.8")}}}
    )

    assert models.newest("sonnet", Config(), None) == ANTHROPIC
    assert str(models.newest("sonnet", Config(), "openrouter/z-ai/glm-5")).startswith(
        "openrouter/anthropic/claude-sonnet-"
    )
    assert models.newest("opus", own, "local/opus-9") == "local/claude-opus-5"
    assert models.newest("haiku", own, "local/opus-9") != models.newest("haiku", Config(), None) is not None
    assert models.newest("haiku", config(enabled_providers=["openai"]), None) is None
    assert default_models(tmp_path / "2").newest("haiku", Config(), None) is None
