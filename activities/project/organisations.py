"""Configurations that organisations publish for OpenCode (opencode.md 14.1): the weakest, and held to what a project's
files may do."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from activities.files.workspace import Workspace
from activities.project.config_checks import check_fields
from activities.project.config_references import detach_from_file
from activities.project.jsonc import read_text
from activities.web.remote_copies import RemoteSource, describe_problem, read_copy
from workflows.domain.config.fields import JsonObject
from workflows.domain.config.merge import ConfigLayer, normalize_field_names, normalize_permissions
from workflows.domain.errors import ConfigError

_MOST: Final = 10
_NOWHERE: Final = Path("/opencode.json")  # a relative reference of theirs leads out of every project


@dataclass(frozen=True)
class Organisations:
    """From the copies that are there. `wanted`: what a worker is to fetch."""

    layers: tuple[ConfigLayer, ...] = ()
    wanted: tuple[RemoteSource, ...] = ()
    warnings: tuple[str, ...] = ()


def read_organisations(workspace: Workspace) -> Organisations:
    """Those that OpenCode's `auth.json` knows of. Only their addresses are read from it."""
    file = workspace.home / ".local" / "share" / "opencode" / "auth.json"
    wanted, layers, warnings = [], [], []
    for url in islice(_addresses(file), _MOST):
        wanted.append(RemoteSource(url=url, organisation=True))
        copy = read_copy(workspace.data, url)
        if (problem := describe_problem(url, str(file), copy)) is not None:
            warnings.append(problem)
        try:
            if copy is not None and copy.text is not None:
                layers.append(ConfigLayer(file=url, trusted=False, tree=parse_organisation(copy.text, url)))
        except ConfigError as error:
            mistake = str(error).partition("\n")[0]
            warnings.append(f"{mistake} Nothing of this configuration counts.")
    return Organisations(tuple(layers), tuple(wanted), tuple(warnings))


def parse_organisation(text: str, url: str) -> JsonObject:
    """The field `config`, checked as a file is. Raises ConfigError."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    config = document.get("config", {}) if isinstance(document, dict) else None
    if not isinstance(config, dict):
        raise ConfigError(f"{url}: it is no JSON object with the field 'config'.")

    tree = normalize_permissions(config)
    check_fields(tree, url)
    return normalize_field_names(detach_from_file(tree, _NOWHERE, _NOWHERE.parent))


def _addresses(file: Path) -> Iterator[str]:
    try:
        entries = json.loads(read_text(file) or "{}")
    except (ConfigError, ValueError, RecursionError):
        return
    for address, entry in entries.items() if isinstance(entries, dict) else ():
        if isinstance(entry, dict) and entry.get("type") == "wellknown":
            yield f"{address.rstrip('/')}/.well-known/opencode"
