"""The release's table of models and its corrections."""

import json
from datetime import date

import pytest

from activities.model import litellm_table, model_table
from activities.model.table_entry import read_entry
from tests.providers.write_release_models import corrections, release_table


def test_the_table_is_that_of_the_locked_litellm_with_the_corrections() -> None:
    written = model_table.RELEASE.read_text()

    assert written == release_table(), "Run `python -m tests.providers.write_release_models`."


@pytest.mark.parametrize("correction", corrections(), ids=lambda each: each["model"])
def test_a_correction_says_where_it_is_from_and_adds_to_what_litellm_knows(correction: dict[str, object]) -> None:
    known = litellm_table.read_table().get(str(correction["model"]), {})
    entry = correction["entry"]

    assert str(correction["source"]).startswith("https://")
    assert date.fromisoformat(str(correction["date"])) <= date.today()
    assert isinstance(entry, dict) and entry.items() - known.items()
    assert all(litellm_table.COLUMNS.fullmatch(column) for column in entry)


def test_a_single_entry_is_read_as_in_the_whole_table() -> None:
    litellm, release = litellm_table.read_table(), json.loads(model_table.RELEASE.read_bytes())["models"]

    for name in (*list(litellm)[::100], list(litellm)[-1]):
        assert litellm_table.read_single_entry(name) == litellm_table.find_entry(litellm, name)
    for name in (*list(release)[::100], list(release)[-1]):
        assert read_entry(model_table.RELEASE, [name]) == release[name]


def test_the_first_name_that_is_there_counts() -> None:
    assert read_entry(model_table.RELEASE, ["mode", "openai/gpt-5", "gpt-5", "gpt-4o"])["litellm_provider"] == "openai"
    assert read_entry(model_table.RELEASE, ["models", "mode", ""]) == {}
