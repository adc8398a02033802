"""Rules of agents that would be lost, because they stand where OpenCode reads none."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

from pydantic import JsonValue

from workflows.domain.config.fields import AGENT_FIELDS, FieldPath, JsonObject
from workflows.domain.permissions.rules import Action

_ALIKE: Final = 0.85  # a name so near to another is misspelt


def find_lost_rules(tree: JsonObject) -> Iterator[tuple[FieldPath, str]]:
    """Unknown fields of agents go to the provider: what a misspelt or misplaced rule denies would not be denied."""
    for table in ("agent", "mode"):
        for name, agent in _object(tree.get(table)).items():
            for key, value in _object(agent).items():
                if key not in AGENT_FIELDS and (problem := _problem(key, value)):
                    yield (table, name, key), problem


def _problem(key: str, value: JsonValue) -> str | None:
    if near := get_close_matches(key.casefold(), ("permission", "tools"), 1, _ALIKE):
        return f"there is no such field: write {near[0]!r}"
    values = [*value.values()] if isinstance(value, dict) else [value]
    if values and all(isinstance(each, str) and each in tuple(Action) for each in values):
        return "a rule counts within 'permission' only: write it there"
    return None


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}
