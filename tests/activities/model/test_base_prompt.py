"""The prompt of a model by its family."""

from pathlib import Path

import pytest

import prompts
from activities.model.base_prompt import base_prompt, prompt_family

FOLDER = Path(prompts.__file__).parent / "families"
FAMILIES = sorted(file.stem for file in FOLDER.glob("*.md"))
DUTIES = {  # what everyone is told (opencode.md 6.2)
    "identity": "You are Holdfast",
    "the weight of instructions": "the user's own words go before theirs",
    "no emojis": "emojis",
    "places": "`path:line`",
    "no commits unasked": "Do not commit, push, publish or change branches unless the user asks",
    "others' changes": "changes that are not yours. Never revert them",
    "no secrets": "Never print, log, write or commit secrets",
    "reminders": "<system-reminder>",
    "refused calls": "If one is refused, respect it",
    "checks": "# Verification",
    "the project's libraries": "librar",
}


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("meta/muse-spark-1.3", "muse"),
        ("openai/gpt-4.1", "gpt-4"),
        ("openai/gpt-4o-mini", "gpt-4"),
        ("openai/o3", "gpt-4"),
        ("openrouter/openai/o4-mini", "gpt-4"),
        ("openai/gpt-6-mini", "gpt-6"),
        ("openai/gpt-5.3-codex", "codex"),
        ("openai/gpt-5.2", "gpt"),
        ("azure/gpt-60", "gpt"),
        ("google/gemini-3-pro-preview", "gemini"),
        ("amazon-bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude"),
        ("openrouter/anthropic/Claude-Opus-4.6", "claude"),
        ("openrouter/arcee-ai/trinity-mini:free", "trinity"),
        ("groq/moonshotai/kimi-k2-instruct", "kimi"),
        ("moonshotai/k3", "kimi"),
        ("local/llama-4", None),
        ("x/proto3", None),
        ("x/ego1", None),
    ],
)
def test_a_model_belongs_to_the_family_of_its_name(model: str, family: str | None) -> None:
    assert prompt_family(model) == family


def test_a_model_of_another_name_belongs_to_the_family_of_its_id() -> None:
    assert prompt_family("work/fast", "anthropic/claude-haiku-4-5") == "claude"


def test_each_file_is_of_a_family_and_each_family_has_one() -> None:
    named = ("muse", "gpt-4", "gpt-6", "codex", "gpt-5", "gemini-3", "claude", "trinity", "kimi")

    assert {prompt_family(f"x/{name}") for name in named} == set(FAMILIES)


@pytest.mark.parametrize("family", [None, *FAMILIES])
@pytest.mark.parametrize("duty", DUTIES)
def test_every_family_is_told_every_duty(family: str | None, duty: str) -> None:
    assert DUTIES[duty] in base_prompt(family)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_is_told_its_own_sections_and_no_heading_twice(family: str) -> None:
    told = base_prompt(family)
    headings = [line for line in told.splitlines() if line.startswith("# ")]

    assert (FOLDER / f"{family}.md").read_text("utf-8").strip().splitlines()[-1] in told
    assert len(headings) == len(set(headings))
    assert told != base_prompt(None)


def test_a_section_takes_the_place_of_the_one_with_its_heading() -> None:
    told = base_prompt("trinity")

    assert "Make at most one call in an answer" in told
    assert "all others run side by side" not in told
    assert told.index("# Tools") < told.index("# Safety")
