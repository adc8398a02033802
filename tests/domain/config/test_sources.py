"""Where a session's configuration comes from."""

import hashlib

from workflows.domain.config.sources import ConfigSources

SOURCES = ConfigSources(home="/home/me", folder="/home/me/.config/opencode")


def test_what_is_asked_about_is_a_part_only_where_there_is_any() -> None:
    asking = SOURCES.model_copy(update={"ask": ("bash",)})

    assert '"ask"' not in SOURCES.model_dump_json()
    assert SOURCES.digest == hashlib.sha256(SOURCES.model_dump_json().encode()).hexdigest() != asking.digest
    assert ConfigSources.model_validate_json(asking.model_dump_json()) == asking
    assert asking.changed_from(SOURCES) == ("--ask",)
