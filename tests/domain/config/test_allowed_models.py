import pytest

from workflows.domain.config.allowed_models import check_allowed, is_allowed
from workflows.domain.config.config import Config
from workflows.domain.config.fields import JsonObject
from workflows.domain.config.merge import merge_files
from workflows.domain.errors import UsageError

LISTS: JsonObject = {"x": {"whitelist": ["m", "n"], "blacklist": ["n"]}}


@pytest.mark.parametrize(
    ("tree", "provider", "model", "field"),
    [
        ({}, "x", "m", None),
        ({"disabled_providers": ["x"]}, "x", "m", "disabled_providers"),
        ({"disabled_providers": ["x"], "enabled_providers": ["x"]}, "x", None, "disabled_providers"),
        ({"disabled_providers": ["y"]}, "x", "m", None),
        ({"enabled_providers": ["x"]}, "x", "m", None),
        ({"enabled_providers": ["x"]}, "y", "m", "enabled_providers"),
        ({"enabled_providers": []}, "x", "m", "enabled_providers"),
        ({"provider": LISTS}, "x", "m", None),
        ({"provider": LISTS}, "x", "n", "provider.x.blacklist"),
        ({"provider": LISTS}, "x", "o", "provider.x.whitelist"),
        ({"provider": LISTS}, "x", None, None),
    ],
)
def test_what_the_configuration_excludes_is_refused(
    tree: JsonObject, provider: str, model: str | None, field: str | None
) -> None:
    config = Config.model_validate(tree)

    assert is_allowed(config, provider, model) is (field is None)
    if field is not None:
        with pytest.raises(UsageError, match=f"excluded by `{field}`"):
            check_allowed(config, provider, model)


@pytest.mark.parametrize(
    ("later", "enabled", "disabled"),
    [
        ({"enabled_providers": ["b", "c"], "disabled_providers": []}, ["b"], ["x"]),
        ({"enabled_providers": None, "disabled_providers": ["y"]}, ["a", "b"], ["x", "y"]),
        ({}, ["a", "b"], ["x"]),
    ],
)
def test_a_later_file_takes_no_limit_away(later: JsonObject, enabled: list[str], disabled: list[str]) -> None:
    merged = merge_files([{"enabled_providers": ["a", "b"], "disabled_providers": ["x"]}, later])

    assert (merged["enabled_providers"], merged["disabled_providers"]) == (enabled, disabled)
