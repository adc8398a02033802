"""Whether the fields of a configuration file are right."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from pydantic import JsonValue, ValidationError
from pydantic_core import ErrorDetails

from activities.project.excerpts import Located, with_excerpt
from activities.project.json_positions import JsonPath
from workflows.domain.config.config import ClientSettings, Config, OlderSettings, UnsupportedSettings
from workflows.domain.config.fields import JsonObject
from workflows.domain.config.lost_rules import find_lost_rules
from workflows.domain.errors import ConfigError

_MOST_LOCATED: Final = 20  # mistakes of one file: each is looked for in the whole text

Locate: TypeAlias = Callable[[Sequence[str | int]], Located]


def check_fields(tree: JsonObject, file: Path | str, locate: Locate) -> None:
    """Raise ConfigError for fields of the wrong type, NaN and infinity, and rules that would be lost."""
    for endless in _endless_numbers(tree):
        raise field_error(file, locate(endless), "a number is neither NaN nor infinite")
    for lost, problem in find_lost_rules(tree):
        raise field_error(file, locate(lost), problem)
    try:
        for model in (Config, OlderSettings, UnsupportedSettings, ClientSettings):
            model.model_validate_json(json.dumps(tree), strict=True)
    except ValidationError as error:
        # In a union, the deepest mistake belongs to the branch that the author meant.
        found = [(locate(mistake["loc"]), _describe(mistake)) for mistake in error.errors()[:_MOST_LOCATED]]
        raise field_error(file, *max(found, key=lambda item: len(item[0].path))) from error


def _endless_numbers(value: JsonValue, at: JsonPath = ()) -> Iterator[JsonPath]:
    """No JSON holds them: what a person accepts or a session keeps would be another value when it is read again."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _endless_numbers(item, (*at, key))
    elif isinstance(value, float) and not math.isfinite(value):
        yield at


def field_error(file: Path | str, at: Located, problem: str) -> ConfigError:
    field = f"the field {'.'.join(map(str, at.path))!r} is wrong: " if at.path else ""
    return ConfigError(with_excerpt(f"{file}:{at.position}: {field}{problem}.", at.excerpt))


def _describe(mistake: ErrorDetails) -> str:
    if mistake["type"] == "value_error":
        return str(mistake["ctx"]["error"])  # our words: its own message begins with "Value error"
    return "there is no such field" if mistake["type"] == "extra_forbidden" else mistake["msg"]
