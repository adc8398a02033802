"""The fields called supported are those that our code reads."""

from tests import configuration_fields
from workflows.domain.config.config import Config, UnsupportedSettings
from workflows.domain.config.fields import SUPPORTED_FIELDS
from workflows.domain.config.provider_settings import ProviderOptions


def test_each_field_of_the_configuration_is_read_by_some_code() -> None:
    found, keys = configuration_fields.fields_read()

    dead = [
        (model.__name__, name) for model, name in configuration_fields.fields_of(Config) if (model, name) not in found
    ]

    unread = [f"{model}.{name}" for model, name in dead if name not in keys]
    assert unread == [], "nothing reads these: have them act, or leave them out, so that people are told"


def test_the_reading_of_a_field_is_seen_where_it_happens_and_not_where_it_does_not() -> None:
    found, keys = configuration_fields.fields_read()

    assert {(ProviderOptions, "base_url"), (Config, "tool_output"), (Config, "subagent_depth")} <= found
    assert {"tools", "instructions"} <= keys
    assert not {name for model, name in found if model is UnsupportedSettings}


def test_honoured_fields_are_those_of_the_models_as_files_write_them() -> None:
    written = {".".join(path) for path in SUPPORTED_FIELDS}

    assert {"provider.*.options.baseURL", "agent.*.maxSteps", "agent.*.steps", "tool_output.max_lines"} <= written
    assert not {"provider.*.options", "provider.*.options.organization", "share"} & written
