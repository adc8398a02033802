"""Where the key of a model provider is looked up."""

from pathlib import Path

import pytest

from activities.credentials.keys import Keys
from activities.model.key_lookup import find_key
from activities.model.providers import provider_named
from workflows.domain.errors import UsageError

ANTHROPIC = provider_named("anthropic")


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return Keys(tmp_path / "data" / "auth.json")


@pytest.mark.parametrize(
    ("configured", "stored", "variable", "expected"),
    [
        ("config", "file", "variable", "config"),
        (None, "file", "variable", "file"),
        (None, None, "variable", "variable"),
        ("", None, "", None),
    ],
)
def test_the_configuration_comes_first_then_the_file_then_the_environment(
    keys: Keys, configured: str | None, stored: str | None, variable: str, expected: str | None
) -> None:
    if stored:
        keys.set("anthropic", stored)

    found = find_key(ANTHROPIC, configured, keys, {"ANTHROPIC_API_KEY": variable})

    assert (found.get_secret_value() if found else None) == expected


def test_by_a_name_only_the_key_of_that_name_is_found(keys: Keys) -> None:
    keys.set("anthropic", "sk-1")
    keys.set("anthropic", "sk-2", "work")
    environment = {"ANTHROPIC_API_KEY": "variable"}

    named = find_key(ANTHROPIC, None, keys, environment, "work")
    configured = find_key(ANTHROPIC, "config", keys, environment, "work")

    assert named and configured and [each.get_secret_value() for each in (named, configured)] == ["sk-2", "config"]
    with pytest.raises(UsageError, match="auth login anthropic --name home"):
        find_key(ANTHROPIC, None, keys, environment, "home")
