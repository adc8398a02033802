"""Agents in Markdown files (opencode.md 1.3)."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import JsonValue

from activities.files.workspace import Workspace
from activities.project import frontmatter
from activities.project.config_checks import check_fields, field_error
from activities.project.config_references import detach_from_file
from activities.project.folder_scan import MAX_ENTRIES, FolderScan
from activities.project.frontmatter import MarkdownFile
from activities.project.markdown_text import read_text, shown_path
from workflows.domain.agents.agent import AgentMode, RefusedAgent
from workflows.domain.config.agent_forms import find_ineffective
from workflows.domain.config.fields import JsonObject
from workflows.domain.config.merge import ConfigLayer, normalize_field_names, normalize_permissions
from workflows.domain.errors import ConfigError

MAX_AGENT_FILES: Final = 500  # of one directory of configuration
_NAME: Final = re.compile(r"(?:^|[{,])[ \t]*[\"']?name[\"']?[ \t]*:[ \t]*(\S.{0,200})", re.MULTILINE)
_BEHIND_NAME: Final = re.compile(r"[ \t]#|[,}]")


class _Folder(NamedTuple):
    name: str
    mode: AgentMode | None  # of all agents in it


_FOLDERS: Final = (
    _Folder("agent", None),
    _Folder("agents", None),
    _Folder("mode", AgentMode.PRIMARY),
    _Folder("modes", AgentMode.PRIMARY),
)


def read_agent_files(configuration: Path, *, trusted: bool, workspace: Workspace) -> Iterator[ConfigLayer]:
    """The agent files of a configuration directory, in order; one that cannot be used is a refused layer.

    Raises ConfigError when there are too many, or a folder cannot be read: what is left out may deny something.
    """
    scan, count = FolderScan(), 0
    for folder, mode in _FOLDERS:
        above = configuration / folder
        for path in sorted(scan.files(above, (".md",), deep=mode is None)):
            count += 1
            if count > MAX_AGENT_FILES:
                raise ConfigError(f"{configuration}: at most {MAX_AGENT_FILES} files of agents are read: remove some.")
            name = shown_path(path.relative_to(above).with_suffix(""))
            yield _read_layer(path, name, mode, trusted, workspace)
    if scan.unreadable is not None:
        raise ConfigError(f"{shown_path(scan.unreadable)}: this folder of agents cannot be read, or links to nothing.")
    if scan.first_unread is not None:
        raise ConfigError(
            f"{shown_path(scan.first_unread)}: folders of agents hold at most {MAX_ENTRIES:,} entries: remove some."
        )


def _read_layer(path: Path, name: str, mode: AgentMode | None, trusted: bool, workspace: Workspace) -> ConfigLayer:
    file, text, found = shown_path(path), "", None
    try:
        text = read_text(path, None if trusted else workspace.root)
        found = frontmatter.parse(text, Path(file))
        return _layer(found, Path(file), name, mode, trusted, workspace.home)
    except ConfigError as error:
        named = _names_in(text) if found is None else (found.fields.get("name"),)
        names = dict.fromkeys((name, *(each for each in named if isinstance(each, str) and each.isprintable())))
        refused = RefusedAgent(names=tuple(names), why=str(error))
        return ConfigLayer(file=file, trusted=trusted, tree={}, markdown=True, refused=refused)


def _layer(
    found: MarkdownFile, file: Path, name: str, mode: AgentMode | None, trusted: bool, home: Path
) -> ConfigLayer:
    fields = {key: value for key, value in found.fields.items() if key != "name"} | (
        {"mode": mode.value} if mode else {}
    )
    named = found.fields.get("name", name)
    if not isinstance(named, str):
        raise field_error(file, ("name",), "it is a text")
    written: JsonObject = {"agent": {named: fields}}
    tree = normalize_permissions(written)
    check_fields(tree, file, above=2)
    tree = normalize_field_names(detach_from_file(tree, file, home))
    if found.body:
        tree = _with_prompt(tree, named, found.body)
    ineffective = tuple(find_ineffective(written))
    return ConfigLayer(file=str(file), trusted=trusted, tree=tree, markdown=True, ineffective=ineffective)


def _with_prompt(tree: JsonObject, name: str, body: str) -> JsonObject:
    agents = tree["agent"]
    assert isinstance(agents, dict) and isinstance(agents[name], dict)
    agent: dict[str, JsonValue] = {**agents[name], "prompt": body}  # type: ignore[dict-item]  # it is an object
    return {"agent": {name: agent}}


def _names_in(text: str) -> Iterator[str]:
    """What a file whose fields cannot be read may have named its agent."""
    if (hit := _NAME.search(text[: frontmatter.MAX_HEAD_CHARS])) is not None:
        yield from (each.strip().strip("\"'") for each in (hit[1], _BEHIND_NAME.split(hit[1])[0]))
