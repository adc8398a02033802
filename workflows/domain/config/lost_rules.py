"""Rules of agents that would be lost, because they stand where OpenCode reads none."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Final

from pydantic import JsonValue

from workflows.domain.config.fields import AGENT_FIELDS, FieldPath, JsonObject
from workflows.domain.permissions.rules import Action

_ALIKE: Final = 0.85  # a name so near to that of a field that restricts is misspelt
_SIMILAR: Final = 0.8  # one so near to that of any field may be
_RESTRICTING: Final = ("permission", "tools", "disable", "steps", "maxSteps")


def find_lost_rules(tree: JsonObject) -> Iterator[tuple[FieldPath, str]]:
    """Unknown fields of agents have no effect: what a misspelt or misplaced rule denies would not be denied."""
    for table in ("agent", "mode"):
        for name, agent in _object(tree.get(table)).items():
            for key, value in _object(agent).items():
                if key not in AGENT_FIELDS and (problem := _problem(key, value)):
                    yield (table, name, key), problem


def similar_field(key: str) -> str | None:
    """The field of an agent that a key may have been meant to be."""
    return _near(key, AGENT_FIELDS, _SIMILAR)


def _problem(key: str, value: JsonValue) -> str | None:
    if near := _near(key, _RESTRICTING, _ALIKE):
        return f"there is no such field: write {near!r}"
    if _plain(key).endswith("tools") or _is_rule(value):
        return "a rule counts within 'permission' only: write it there"
    return None


def _near(key: str, fields: Iterable[str], cutoff: float) -> str | None:
    plain = {_plain(field): field for field in fields}
    return next((plain[hit] for hit in get_close_matches(_plain(key), plain, 1, cutoff)), None)


def _plain(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "")


def _is_rule(value: JsonValue) -> bool:
    """Whether a value has nothing but actions, at any depth."""
    if isinstance(value, dict):
        return bool(value) and all(map(_is_rule, value.values()))
    return isinstance(value, str) and value in tuple(Action)


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}
