"""What models that no table has are taken for."""

from datetime import date

import pytest

from activities.model.catalogue import TableMatch, facts_of, match_model, nearest_model, variants_of
from activities.model.litellm_table import ModelTable, find_facts, find_relative
from activities.model.model_names import find_meant, read_name
from activities.model.model_table import ModelTables
from activities.model.port import ModelFacts
from workflows.domain.config.provider_settings import Provider

TODAY = date(2026, 11, 27)
SEES = {"supports_vision": True, "supports_pdf_input": True, "supports_reasoning": True}
KNOWN = [
    *("claude-sonnet-4-5", "claude-sonnet-4-5-20250929", "claude-sonnet-5", "claude-opus-5", "claude-haiku-4-5"),
    *("gpt-5.5", "gpt-5.5-pro", "gpt-5-mini", "gpt-5-nano", "gpt-6-sol", "gpt-6-luna", "gpt-5.3-codex"),
    *("anthropic/claude-sonnet-4.5", "qwen"),
]


def _entry(provider: str, context: int, **more: object) -> dict[str, object]:
    return {"litellm_provider": provider, "mode": "chat", "max_input_tokens": context, "max_output_tokens": 9, **more}


TABLE: ModelTable = {
    "claude-opus-4-5": _entry("anthropic", 200_000, **SEES),
    "claude-opus-5-5": _entry("anthropic", 1_000_000, input_cost_per_token=1e-6, output_cost_per_token=1e-6, **SEES),
    "claude-haiku-5-5": _entry("anthropic", 300_000, **SEES),
    "gpt-5.6-terra": _entry("openai", 560_000, **SEES),
    "gpt-6-codex": {**_entry("openai", 400_000, **SEES), "mode": "responses"},
    "gpt-6-image": {**_entry("openai", 1_000), "mode": "image_generation"},
    "gpt-6-sol": _entry("openai", 922_000, **SEES),
    "gemini/gemini-3.8-flash": _entry("gemini", 1_048_576, **SEES),
    "moonshot/kimi-k3": _entry("moonshot", 1_048_577, supports_reasoning=True, reasoning_effort_levels=["low", "max"]),
    "dashscope/qwen3-8b": _entry("dashscope", 131_072, supports_reasoning=True),
    "dashscope/qwen3.8-max": _entry("dashscope", 262_144, **SEES),
    "zai/glm-5.3": _entry("zai", 1_000_000, supports_reasoning=True),
    "zai/glm-5v-turbo": _entry("zai", 200_000, supports_vision=True),
}


@pytest.mark.parametrize(
    ("model", "alike"),
    [
        ("openrouter/anthropic/claude-opus-5.5", "claude-opus-5-5"),
        ("bedrock/us.anthropic.claude-opus-5-5-20260901-v1:0", "claude-opus-5-5"),
        ("vertex_ai/claude-opus-5-5@20260901", "claude-opus-5-5"),
        ("anthropic/claude-opus-6", "claude-opus-5-5"),
        ("anthropic/claude-opus-5", "claude-opus-4-5"),
        ("anthropic/claude-opus-4", "claude-opus-4-5"),
        ("anthropic/claude-saga-6", "claude-opus-5-5"),
        ("openai/gpt-6.1-terra", "gpt-5.6-terra"),
        ("openai/gpt-6-cyber", "gpt-6-sol"),
        ("azure/gpt-6.3-codex", "gpt-6-codex"),
        ("gemini/gemini-4-hydrogen", "gemini/gemini-3.8-flash"),
        ("fireworks_ai/accounts/fireworks/models/kimi-k3p1", "moonshot/kimi-k3"),
        ("deepinfra/Qwen/Qwen3-8B-Instruct", "dashscope/qwen3-8b"),
        ("novita/zai-org/GLM-5.4", "zai/glm-5.3"),
        ("zai/glm-6v-turbo", "zai/glm-5v-turbo"),
        ("groq/openai/gpt-oss-240b", None),
        ("openai/deepseek-r1-distill-qwen-32b", None),
        ("mine/my-finetune", None),
    ],
)
def test_a_model_that_no_table_has_is_taken_for_the_newest_one_of_its_line_or_family_that_is_not_newer(
    model: str, alike: str | None
) -> None:
    assert find_relative(TABLE, model) == alike


def test_it_sees_thinks_and_holds_what_that_one_does_at_an_unknown_price() -> None:
    facts = find_facts(TABLE, "openrouter/anthropic/claude-opus-6")

    expected = ModelFacts(context=1_000_000, max_output=9, images=True, documents=True, reasoning=True, guessed=True)
    assert facts == expected
    assert find_facts(TABLE, "novita/moonshotai/kimi-k4").efforts == ("low", "max")
    assert not find_facts(TABLE, "openrouter/openai/gpt-6.5-codex").responses


def test_the_window_on_a_persons_machine_is_not_guessed() -> None:
    facts = find_facts(TABLE, "ollama_chat/qwen3:8b")

    assert facts == ModelFacts(reasoning=True, guessed=True)


def test_a_model_of_no_known_family_may_see_pictures() -> None:
    assert find_facts(TABLE, "mine/my-finetune") == ModelFacts(images=True, guessed=True)


def test_a_model_newer_than_the_release_has_what_its_family_has() -> None:
    tables = ModelTables()

    facts = facts_of("openrouter/anthropic/claude-opus-29.5", {}, tables)

    assert (facts.guessed, facts.images, facts.documents, facts.reasoning, facts.price) == (
        True,
        True,
        True,
        True,
        None,
    )
    assert facts.context == facts_of("anthropic/claude-opus-5-5", {}, tables).context
    assert "max" in variants_of("anthropic/claude-opus-29-5", {}, tables)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("anthropic/claude-opus-5-5", TableMatch()),
        ("openrouter/anthropic/claude-opus-5.5-new", TableMatch(unknown=True, alike="claude-opus-5-5")),
        ("anthropic/claude-haiku-29", TableMatch(unknown=True, alike="claude-haiku-5-5")),
        ("groq/wonder-9", TableMatch(unknown=True)),
        ("ollama/wonder-9", TableMatch()),
        ("azure/my-deployment", TableMatch()),
        ("mine/wonder-9", TableMatch()),
    ],
)
def test_it_is_told_which_models_no_table_has_and_what_they_are_taken_for(model: str, expected: TableMatch) -> None:
    providers = {"mine": Provider.model_validate({"options": {"baseURL": "http://127.0.0.1:9/v1"}})}

    assert match_model(model, providers, ModelTables()) == expected


@pytest.mark.parametrize(
    ("model", "near"),
    [
        ("anthropic/claude-sonet-4-5", "anthropic/claude-sonnet-4-5"),
        ("anthropic/claude-opus-29-5", None),
        ("openrouter/anthropic/claude-opus-29.5", None),
    ],
)
def test_an_older_model_is_not_proposed_for_a_newer_one(model: str, near: str | None) -> None:
    assert nearest_model(model, {}, ModelTables(), TODAY) == near


def test_a_version_is_read_in_every_spelling() -> None:
    spellings = ("kimi-k3.1", "moonshotai/Kimi-K3.1:free", "accounts/fireworks/models/kimi-k3p1", "kimi-k3-1-preview")

    assert len({read_name(each) for each in spellings}) == 1


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("claude-sonet-4-5", "claude-sonnet-4-5"),
        ("claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("claude-sonnet-45", "claude-sonnet-4-5"),
        ("Claude-Opus-5", "claude-opus-5"),
        ("claude-sonnet4-5", "claude-sonnet-4-5"),
        ("sonnet", "claude-sonnet-5"),
        ("claude-opus", "claude-opus-5"),
        ("gpt-5.5-por", "gpt-5.5-pro"),
        ("gpt-5.3-codx", "gpt-5.3-codex"),
        ("gpt5.5", "gpt-5.5"),
        ("qwem", "qwen"),
        ("anthropic/claude-sonet-4.5", "anthropic/claude-sonnet-4.5"),
        ("claude-opus-6", None),
        ("claude-sonnet-5-6", None),
        ("claude-fable-5", None),
        ("gpt-6.2-sol", None),
        ("gpt-6-astra", None),
        ("gpt-6-nova", None),
        ("gpt-5-tiny", None),
        ("anthropic/claude-opus-5.5", None),
        ("something-else", None),
    ],
)
def test_a_slip_of_letters_is_a_known_name_and_another_version_is_not(typed: str, meant: str | None) -> None:
    assert find_meant(typed, KNOWN) == meant
