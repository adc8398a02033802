"""Whether the fields of a configuration file are right."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from activities.project.json_positions import JsonPath
from workflows.domain.config.config import Config, OlderSettings, UnsupportedSettings
from workflows.domain.config.fields import JsonObject
from workflows.domain.config.lost_rules import find_lost_rules
from workflows.domain.errors import ConfigError

Locate: TypeAlias = Callable[[Sequence[str | int]], tuple[JsonPath, int]]  # the known part of a path, and its line


def check_fields(tree: JsonObject, file: Path, locate: Locate) -> None:
    """Raise ConfigError for a field of the wrong type, and for rules that would be lost."""
    for lost, problem in find_lost_rules(tree):
        raise _error(file, *locate(lost), problem)
    try:
        for model in (Config, OlderSettings, UnsupportedSettings):
            model.model_validate_json(json.dumps(tree), strict=True)
    except ValidationError as error:
        # In a union, the deepest mistake belongs to the branch that the author meant.
        found = [(*locate(mistake["loc"]), _describe(mistake)) for mistake in error.errors()]
        raise _error(file, *max(found, key=lambda item: len(item[0]))) from error


def _error(file: Path, path: JsonPath, line: int, problem: str) -> ConfigError:
    field = f"the field {'.'.join(map(str, path))!r} is wrong: " if path else ""
    return ConfigError(f"{file}:{line}: {field}{problem}.")


def _describe(mistake: ErrorDetails) -> str:
    if mistake["type"] == "value_error":
        return str(mistake["ctx"]["error"])  # our words: its own message begins with "Value error"
    return "there is no such field" if mistake["type"] == "extra_forbidden" else mistake["msg"]
