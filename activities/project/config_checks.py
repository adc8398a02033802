"""Whether the fields of a configuration file are right."""

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import JsonValue, ValidationError
from pydantic_core import ErrorDetails

from workflows.domain.config.config import ClientSettings, Config, OlderSettings, UnsupportedSettings
from workflows.domain.config.fields import JsonObject
from workflows.domain.config.lost_rules import find_lost_rules
from workflows.domain.errors import ConfigError

JsonPath: TypeAlias = tuple[str | int, ...]


def check_fields(tree: JsonObject, file: Path | str, above: int = 0) -> None:
    """Raise ConfigError for fields of the wrong type, NaN and infinity, and rules that would be lost. `above`: keys
    of the tree that the file does not have."""
    for endless in _endless_numbers(tree):
        raise field_error(file, endless[above:], "a number is neither NaN nor infinite")
    for lost, problem in find_lost_rules(tree):
        raise field_error(file, lost[above:], problem)
    try:
        for model in (Config, OlderSettings, UnsupportedSettings, ClientSettings):
            model.model_validate_json(json.dumps(tree), strict=True)
    except ValidationError as error:
        # In a union, the deepest mistake belongs to the branch that the author meant.
        found = [(_written_part(tree, mistake["loc"]), _describe(mistake)) for mistake in error.errors()]
        path, problem = max(found, key=lambda item: len(item[0]))
        raise field_error(file, path[above:] or ("name",) * bool(above), problem) from error


def _written_part(value: Any, location: Sequence[str | int]) -> JsonPath:
    """A mistake's path without the names of a union's branches."""
    found: JsonPath = ()
    for part in location:
        if part in value if isinstance(value, dict) else isinstance(value, list) and isinstance(part, int):
            found, value = (*found, part), value[part]
    return found


def _endless_numbers(value: JsonValue, at: JsonPath = ()) -> Iterator[JsonPath]:
    """No JSON holds them: what a person accepts or a session keeps would be another value when it is read again."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _endless_numbers(item, (*at, key))
    elif isinstance(value, float) and not math.isfinite(value):
        yield at


def field_error(file: Path | str, path: JsonPath, problem: str) -> ConfigError:
    field = f"the field {'.'.join(map(str, path))!r} is wrong: " if path else ""
    return ConfigError(f"{file}: {field}{problem}.")


def _describe(mistake: ErrorDetails) -> str:
    if mistake["type"] == "value_error":
        return str(mistake["ctx"]["error"])  # our words: its own message begins with "Value error"
    return "there is no such field" if mistake["type"] == "extra_forbidden" else mistake["msg"]
