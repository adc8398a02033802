"""The configuration files of a directory, read and checked one by one, in their order (opencode.md 14.1)."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from activities.files.place import Place
from activities.project import jsonc, positions
from activities.project.references import grounded
from workflows.domain.config.config import Config, Later
from workflows.domain.config.fields import JsonObject
from workflows.domain.config.merge import Layer, modern, newest
from workflows.domain.config.sources import ConfigSources
from workflows.domain.errors import ConfigError

_NAMES: Final = ("opencode.json", "opencode.jsonc")


def read_layers(place: Place, sources: ConfigSources, managed: Path) -> tuple[Layer, ...]:
    """All configuration that there is, from the weakest to the strongest; `managed` is the administrator's folder.

    Raises ConfigError, naming file, line and field, for the first one that is wrong, and for one that a variable names
    and that is not there.
    """
    found = [_layer(file, trusted, place.home) for file, trusted in _files(place, sources).items()]
    given = [("OPENCODE_CONFIG_CONTENT", sources.content), ("OPENCODE_PERMISSION", sources.permission)]
    above = [_layer(managed / name, True, place.home, managed=True) for name in _NAMES]
    return (
        *(layer for layer in found if layer is not None),
        *(Layer(file=variable, trusted=True, tree=newest(tree)) for variable, tree in given if tree is not None),
        *(layer for layer in above if layer is not None),
    )


def levels(place: Place) -> tuple[Path, ...]:
    """The directories of a project, from where the session works up to the root of its work tree."""
    upwards = (place.directory, *place.directory.parents)
    return upwards[: upwards.index(place.root) + 1]


def own_folders(place: Place, sources: ConfigSources) -> tuple[tuple[Path, bool], ...]:
    """The configuration folders outside of the project's own: the user's, `~/.opencode`, and the one that a variable
    names; each with whether it is trusted.

    What a variable names inside of the project is the project's: everybody who can change the project, its agent
    included, could change it.
    """
    folder = Path(sources.folder)
    usual = folder == Path(sources.home, ".config", "opencode")
    named = [Path(sources.directory)] if sources.directory else []
    for each in named:
        if not _is_there(each, folder=True):
            raise ConfigError(f"OPENCODE_CONFIG_DIR names {str(each)!r}: there is no such directory that can be read.")
    return (
        (folder, usual or _outside(folder, place)),
        (place.home / ".opencode", True),
        *((each, _outside(each, place)) for each in named),
    )


def project_folders(place: Place, sources: ConfigSources) -> tuple[Path, ...]:
    """The `.opencode` directories of the project, the nearest first."""
    return () if sources.disable_project_config else tuple(folder / ".opencode" for folder in levels(place))


def _files(place: Place, sources: ConfigSources) -> dict[Path, bool]:
    """The configuration files, in their order, and whether each one is trusted."""
    (folder, trusted), *more = own_folders(place, sources)
    last = {each / name: known for each, known in more for name in _NAMES}
    first = {folder / name: trusted for name in ("config.json", *_NAMES) if folder / name not in last}
    project = {file: False for file in _of_project(place, sources) if file not in first | last}
    named = {file: known for file, known in _named(place, sources) if file not in first | project | last}
    return first | named | project | last


def _named(place: Place, sources: ConfigSources) -> Iterator[tuple[Path, bool]]:
    """The file that a variable names, which has to be there: what it limits would not hold otherwise."""
    if sources.file is None:
        return
    file = Path(sources.file)
    if not _is_there(file):
        raise ConfigError(f"OPENCODE_CONFIG names {sources.file!r}: there is no such file that can be read.")
    yield file, _outside(file, place)


def _is_there(path: Path, *, folder: bool = False) -> bool:
    """Whether something, or a folder, is there; what this user may not look for is not."""
    try:
        return stat.S_ISDIR(path.stat().st_mode) or not folder
    except OSError:
        return False


def _outside(path: Path, place: Place) -> bool:
    """Whether a path lies outside of the project, by its name and where its links lead."""
    return not any(each.is_relative_to(place.root) for each in (path, Path(os.path.realpath(path))))


def _of_project(place: Place, sources: ConfigSources) -> list[Path]:
    """Files of outer directories come before those of inner ones; the nearest `.opencode` before outer ones."""
    if sources.disable_project_config:
        return []
    plain = [folder / name for folder in reversed(levels(place)) for name in _NAMES]
    return plain + [folder / name for folder in project_folders(place, sources) for name in _NAMES]


def _layer(file: Path, trusted: bool, home: Path, *, managed: bool = False) -> Layer | None:
    text = jsonc.read_text(file)
    if text is None:
        return None
    tree = modern(jsonc.parse(text, file))
    check(tree, text, file)
    doubled = tuple((".".join(map(str, path)), line) for path, line in positions.doubled(text))
    tree = newest(grounded(tree, file, home))
    return Layer(file=str(file), trusted=trusted, tree=tree, managed=managed, doubled=doubled)


def check(tree: JsonObject, text: str, file: Path) -> None:
    """Raise ConfigError for a field of a wrong type; `text` is what `tree` was read from."""
    try:
        for model in (Config, Later):
            model.model_validate_json(json.dumps(tree), strict=True)
    except ValidationError as error:
        # Of a union's branches, the mistake that lies deepest is the one that the writer made.
        found = [(*positions.find(text, mistake["loc"]), mistake["msg"]) for mistake in error.errors()]
        path, line, message = max(found, key=lambda item: len(item[0]))
        field = ".".join(map(str, path))
        raise ConfigError(f"{file}:{line}: the field {field!r} is wrong: {message}.") from error
