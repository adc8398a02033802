"""The configuration files of a directory, checked, in their order (opencode.md 14.1)."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

from activities.files.workspace import Workspace
from activities.project import jsonc
from activities.project.agent_files import read_agent_files
from activities.project.config_checks import check_fields
from activities.project.config_references import detach_from_file
from activities.project.organisations import read_organisations
from workflows.domain.config.agent_forms import find_ineffective
from workflows.domain.config.fields import JsonObject
from workflows.domain.config.merge import ConfigLayer, normalize_field_names, normalize_permissions
from workflows.domain.config.sources import ConfigSources
from workflows.domain.errors import ConfigError

_NAMES: Final = ("opencode.json", "opencode.jsonc")


class MarkdownReader(Protocol):
    """Reads the Markdown files of one kind in a directory of configuration, in order."""

    def __call__(self, configuration: Path, *, trusted: bool, workspace: Workspace) -> Iterator[ConfigLayer]: ...


def read_layers(
    workspace: Workspace, sources: ConfigSources, managed: Path, read_markdown: MarkdownReader = read_agent_files
) -> tuple[ConfigLayer, ...]:
    """From the weakest to the strongest; `managed`: the administrator's folder. Files of agents, or others that
    `read_markdown` reads, come behind the others of their directory.

    Raises ConfigError with file and field of the first mistake, or for a missing file that a variable names.
    An agent's file that cannot be used is a refused layer.
    """
    folders = _config_folders(workspace, sources)
    found: list[ConfigLayer | None] = []
    for file, trusted in _trusted_files(workspace, sources).items():
        found.append(_read_layer(file, trusted, workspace.home))
        if file.name == _NAMES[-1] and file.parent in folders:  # each directory has one such entry, its last
            found += read_markdown(file.parent, trusted=trusted, workspace=workspace)
    given: tuple[tuple[str, JsonObject | None], ...] = (
        ("OPENCODE_CONFIG_CONTENT", sources.content),
        ("OPENCODE_PERMISSION", sources.permission),
        ("OPENCODE_DISABLE_AUTOCOMPACT", {"compaction": {"auto": False}} if sources.disable_autocompact else None),
        ("OPENCODE_DISABLE_PRUNE", {"compaction": {"prune": False}} if sources.disable_prune else None),
    )
    above = [_read_layer(managed / name, True, workspace.home, managed=True) for name in _NAMES]
    return (
        *read_organisations(workspace).layers,
        *(layer for layer in found if layer is not None),
        *(
            ConfigLayer(file=variable, trusted=True, tree=normalize_field_names(tree))
            for variable, tree in given
            if tree is not None
        ),
        *(layer for layer in above if layer is not None),
    )


def directories_to_root(workspace: Workspace) -> tuple[Path, ...]:
    """From the session's directory up to the root of its work tree."""
    upwards = (workspace.directory, *workspace.directory.parents)
    return upwards[: upwards.index(workspace.root) + 1]


def user_config_folders(workspace: Workspace, sources: ConfigSources) -> tuple[tuple[Path, bool], ...]:
    """The user's folder, `~/.opencode`, and the one that a variable names; each with whether it is trusted."""
    # A folder inside the project is the project's: its agent could change it.
    folder = Path(sources.folder)
    usual = folder == Path(sources.home, ".config", "opencode")
    named = [Path(sources.directory)] if sources.directory else []
    for each in named:
        if not _exists(each, folder=True):
            raise ConfigError(f"OPENCODE_CONFIG_DIR names {str(each)!r}: there is no such directory that can be read.")
    return (
        (folder, usual or _outside(folder, workspace)),
        (workspace.home / ".opencode", True),
        *((each, _outside(each, workspace)) for each in named),
    )


def project_config_folders(workspace: Workspace, sources: ConfigSources) -> tuple[Path, ...]:
    """Nearest first."""
    return (
        ()
        if sources.disable_project_config
        else tuple(folder / ".opencode" for folder in directories_to_root(workspace))
    )


def _config_folders(workspace: Workspace, sources: ConfigSources) -> set[Path]:
    """Which may hold agents, too."""
    own = (folder for folder, _ in user_config_folders(workspace, sources))
    return {*own, *project_config_folders(workspace, sources)}


def _trusted_files(workspace: Workspace, sources: ConfigSources) -> dict[Path, bool]:
    """Each with whether it is trusted."""
    (folder, trusted), *more = user_config_folders(workspace, sources)
    last = {each / name: known for each, known in more for name in _NAMES}
    first = {folder / name: trusted for name in ("config.json", *_NAMES) if folder / name not in last}
    project = {file: False for file in _project_files(workspace, sources) if file not in first | last}
    named = {
        file: known for file, known in _file_from_variable(workspace, sources) if file not in first | project | last
    }
    return first | named | project | last


def _file_from_variable(workspace: Workspace, sources: ConfigSources) -> Iterator[tuple[Path, bool]]:
    """It must exist: its limits would not hold otherwise."""
    if sources.file is None:
        return
    file = Path(sources.file)
    if not _exists(file):
        raise ConfigError(f"OPENCODE_CONFIG names {sources.file!r}: there is no such file that can be read.")
    yield file, _outside(file, workspace)


def _exists(path: Path, *, folder: bool = False) -> bool:
    try:
        return stat.S_ISDIR(path.stat().st_mode) or not folder
    except OSError:
        return False


def _outside(path: Path, workspace: Workspace) -> bool:
    """By name and through links."""
    return not any(each.is_relative_to(workspace.root) for each in (path, Path(os.path.realpath(path))))


def _project_files(workspace: Workspace, sources: ConfigSources) -> list[Path]:
    """Outer directories before inner ones; the nearest `.opencode` before outer ones."""
    if sources.disable_project_config:
        return []
    plain = [folder / name for folder in reversed(directories_to_root(workspace)) for name in _NAMES]
    return plain + [folder / name for folder in project_config_folders(workspace, sources) for name in _NAMES]


def _read_layer(file: Path, trusted: bool, home: Path, *, managed: bool = False) -> ConfigLayer | None:
    text = jsonc.read_text(file)
    if text is None:
        return None
    written = jsonc.parse(text, file)
    tree = normalize_permissions(written)
    check_fields(tree, file)
    doubled = tuple(jsonc.duplicate_keys(text))
    tree = normalize_field_names(detach_from_file(tree, file, home))
    ineffective = tuple(find_ineffective(written))
    return ConfigLayer(
        file=str(file), trusted=trusted, tree=tree, managed=managed, duplicate_keys=doubled, ineffective=ineffective
    )
