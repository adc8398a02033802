"""What differs between the configurations of two turns, in words for people."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import JsonValue

from activities.project.config_values import as_written, iter_values, mask_secrets
from activities.redact import Redactor
from workflows.domain.config.fields import FieldPath
from workflows.domain.config.turn_config import TurnConfig

MAX_CHANGES: Final = 20  # that are named
_LONGEST: Final = 60  # characters of a value; of a longer one, its first words and digest
_LONGEST_NAME: Final = 120
_FIRST_WORDS: Final = 40
_UNSET: Final = "not set"
_REDACTOR: Final = Redactor()


def describe_changes(before: TurnConfig, after: TurnConfig, redactor: Redactor = _REDACTOR) -> str | None:
    """A line for each field; None where nothing changed that a person has written. Another agent is no change."""
    changes = [*_changes(before, after, redactor)]
    named = changes[:MAX_CHANGES]
    more = [f"and {len(changes) - len(named)} more"] if len(changes) > len(named) else []
    return "\n".join([*named, *more]) or None


def _changes(before: TurnConfig, after: TurnConfig, redactor: Redactor) -> Iterator[str]:
    was, now = _values(before), _values(after)
    for path in dict.fromkeys((*was, *now)):
        if was.get(path) != now.get(path):
            old, new = (_shown(each.get(path), path, redactor) for each in (was, now))
            yield f"{_name(path, redactor)}: {old} → {new}"
    rules = [[path for path in each if "permission" in path] for each in (was, now)]
    if rules[0] != rules[1] and set(rules[0]) == set(rules[1]):
        yield "permission: its rules are in another order"
    if before.agent.name == after.agent.name and before.agent.prompt != after.agent.prompt:
        path = ("agent", after.agent.name, "prompt")
        old, new = (_shown(each.agent.prompt, path, redactor) for each in (before, after))
        yield f"{_name(path, redactor)}: {old} → {new}"
    yield from _changed_texts("instructions", _instructions(before), _instructions(after), redactor)
    yield from _server_changes(before, after, redactor)
    yield from _changed_texts("skills", _skills(before), _skills(after), redactor)


def _server_changes(before: TurnConfig, after: TurnConfig, redactor: Redactor) -> Iterator[str]:
    """How servers were found, and what of their tools is another."""
    was, now = ({each.name: each for each in turn_config.servers} for turn_config in (before, after))
    for name in dict.fromkeys((*was, *now)):
        titled = _name(("server", name), redactor, " ")
        old, new = ("not set" if found is None else found.described for found in (was.get(name), now.get(name)))
        if old != new:
            yield f"{titled}: {_shown(old, (), redactor)} → {_shown(new, (), redactor)}"
        tools = [
            {each.tool: each.digest for each in one.foreign_tools if each.server == name} for one in (before, after)
        ]
        changed = sorted(tool for tool in tools[0].keys() | tools[1].keys() if tools[0].get(tool) != tools[1].get(tool))
        if changed and old == new:
            yield f"{titled}: its tools have changed: {_shown(', '.join(changed), (), redactor)}"


def _values(turn_config: TurnConfig) -> Mapping[FieldPath, JsonValue]:
    """The values that differ from the defaults."""
    return dict(iter_values(as_written(turn_config.config)))


def _instructions(turn_config: TurnConfig) -> Mapping[str, str]:
    return {each.path: each.text for each in turn_config.instructions}


def _skills(turn_config: TurnConfig) -> Mapping[str, str]:
    return {each.name: f"{each.file}\n{each.description}" for each in turn_config.skills}


def _changed_texts(kind: str, was: Mapping[str, str], now: Mapping[str, str], redactor: Redactor) -> Iterator[str]:
    for name in dict.fromkeys((*was, *now)):
        if (old := was.get(name)) != (new := now.get(name)):
            yield f"{_name((kind, name), redactor, ' ')}: {_digest(old)} → {_digest(new)}"


def _name(path: FieldPath, redactor: Redactor, between: str = ".") -> str:
    name = " ".join(redactor.text(between.join(path)).split())
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"


def _shown(value: JsonValue, path: FieldPath, redactor: Redactor) -> str:
    if value is None:
        return _UNSET
    masked = mask_secrets(value, path, redactor)
    text = masked if isinstance(masked, str) else json.dumps(masked, ensure_ascii=False)
    line = " ".join(text.split())
    if len(line) <= _LONGEST:
        return line or '""'
    return f"{line[:_FIRST_WORDS].rstrip()}… ({len(text):,} characters, {_digest(text)})"


def _digest(text: str | None) -> str:
    return _UNSET if text is None else hashlib.sha256(text.encode()).hexdigest()[:8]
