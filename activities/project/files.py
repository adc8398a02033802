"""The configuration files of a directory, read and checked one by one, in their order (opencode.md 14.1)."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from activities.files.place import Place
from activities.project import jsonc, positions
from activities.project.references import grounded
from workflows.domain.config.config import Config
from workflows.domain.config.fields import JsonObject
from workflows.domain.config.merge import Layer, modern
from workflows.domain.errors import ConfigError

_NAMES: Final = ("opencode.json", "opencode.jsonc")


def read_layers(place: Place, config: Path, environ: Mapping[str, str]) -> tuple[Layer, ...]:
    """All configuration files that are there, from the weakest to the strongest; `config` is the user's folder.

    Raises ConfigError, naming file, line and field, for the first one that is wrong.
    """
    first = [config / name for name in ("config.json", *_NAMES)]
    last = [folder / name for folder in _own_folders(place, environ) for name in _NAMES]
    project = [] if is_on(environ, "OPENCODE_DISABLE_PROJECT_CONFIG") else _of_project(place)
    order = [
        *((file, True) for file in first),
        *((file, False) for file in project if file not in (*first, *last)),
        *((file, True) for file in last),
    ]
    layers = (_layer(file, trusted, place.home) for file, trusted in order)
    return tuple(layer for layer in layers if layer is not None)


def is_on(environ: Mapping[str, str], name: str) -> bool:
    """Whether the variable `name` is set to a word for yes."""
    return environ.get(name, "").lower() in ("1", "true")


def levels(place: Place) -> tuple[Path, ...]:
    """The directories of a project, from where the session works up to the root of its work tree."""
    upwards = (place.directory, *place.directory.parents)
    return upwards[: upwards.index(place.root) + 1]


def _own_folders(place: Place, environ: Mapping[str, str]) -> Iterator[Path]:
    yield place.home / ".opencode"
    if folder := environ.get("OPENCODE_CONFIG_DIR"):
        yield Path(folder)


def _of_project(place: Place) -> list[Path]:
    """Files of outer directories come before those of inner ones; the nearest `.opencode` before outer ones."""
    plain = [folder / name for folder in reversed(levels(place)) for name in _NAMES]
    return plain + [folder / ".opencode" / name for folder in levels(place) for name in _NAMES]


def _layer(file: Path, trusted: bool, home: Path) -> Layer | None:
    text = jsonc.read_text(file)
    if text is None:
        return None
    tree = modern(jsonc.parse(text, file))
    _check(tree, text, file)
    return Layer(file=str(file), trusted=trusted, tree=grounded(tree, file, home))


def _check(tree: JsonObject, text: str, file: Path) -> None:
    try:
        Config.model_validate_json(json.dumps(tree), strict=True)
    except ValidationError as error:
        # Of a union's branches, the mistake that lies deepest is the one that the writer made.
        found = [(*positions.find(text, mistake["loc"]), mistake["msg"]) for mistake in error.errors()]
        path, line, message = max(found, key=lambda item: len(item[0]))
        field = ".".join(map(str, path))
        raise ConfigError(f"{file}:{line}: the field {field!r} is wrong: {message}.") from error
