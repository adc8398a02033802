"""The release's table of models and its corrections."""

import json
from datetime import date

import pytest

from activities.model import litellm_table, model_table
from activities.model.model_table import ModelTables, read_entry
from tests.providers.write_release_models import COLUMNS, corrections, read_litellm_table, release_table


def test_the_table_is_that_of_the_locked_litellm_with_the_corrections() -> None:
    written = model_table.RELEASE.read_text()

    assert written == release_table(), "Run `python -m tests.providers.write_release_models`."


@pytest.mark.parametrize("correction", corrections(), ids=lambda each: each["model"])
def test_a_correction_says_where_it_is_from_and_adds_to_what_litellm_knows(correction: dict[str, object]) -> None:
    known = read_litellm_table().get(str(correction["model"]), {})
    entry = correction["entry"]

    assert str(correction["source"]).startswith("https://")
    assert date.fromisoformat(str(correction["date"])) <= date.today()
    assert isinstance(entry, dict) and entry.items() - known.items()
    assert all(COLUMNS.fullmatch(column) for column in entry)


def test_a_single_entry_is_read_as_in_the_whole_table() -> None:
    release = json.loads(model_table.RELEASE.read_bytes())["models"]

    assert {name: read_entry(name) for name in release} == release


def test_a_model_is_listed_with_the_facts_that_it_is_asked_by() -> None:
    tables = ModelTables()
    table = tables.all()

    for name in ("perplexity/perplexity/sonar", "deepseek/deepseek-chat", "gemini/gemini-2.5-pro", "openai/gpt-6-sol"):
        assert litellm_table.find_facts(table, name) == tables.facts(name)


def test_the_first_name_that_is_there_counts() -> None:
    assert read_entry("openai/gpt-5")["litellm_provider"] == "openai"
    assert read_entry("openrouter/openai/gpt-5")["litellm_provider"] == "openrouter"
    assert read_entry("models") == read_entry("mode/litellm") == read_entry("") == {}


SERVED = {"input_cost_per_token": 2e-06, "output_cost_per_token": 1e-05, "input_cost_per_token_priority": 4e-06}
LONG = {"input_cost_per_token_above_200k_tokens": 4e-06}
FEE = {"search_context_cost_per_query": 0.01}


@pytest.mark.parametrize(
    ("newer", "kept"),
    [
        ({"max_output_tokens": 9}, {*SERVED, *LONG, *FEE, "max_output_tokens"}),
        ({"input_cost_per_token": "0.000002", "output_cost_per_token": "0.00001"}, {*SERVED, *FEE}),
        ({"input_cost_per_token": "0.000003", "output_cost_per_token": "0.00001"}, set(list(SERVED)[:2])),
        ({**SERVED, "input_cost_per_token_flex": 1e-06}, {*SERVED, "input_cost_per_token_flex"}),
    ],
    ids=["without prices", "the same ones", "others", "a table that has them all"],
)
def test_a_newer_entry_keeps_what_it_cannot_say_of_prices_that_are_the_same(
    newer: dict[str, object], kept: set[str]
) -> None:
    assert litellm_table.merge_entries({**SERVED, **LONG, **FEE}, newer).keys() == kept
