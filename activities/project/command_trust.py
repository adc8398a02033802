"""What the templates of a project's commands run: it needs a person's trust (security.md 12)."""

from collections.abc import Iterator, Sequence
from typing import Final

from activities.files.workspace import Workspace
from activities.project.config_files import project_config_folders, user_config_folders
from activities.project.prompt_files import read_prompts
from workflows.domain.commands.template import find_shell_references
from workflows.domain.config.fields import value_at
from workflows.domain.config.merge import ConfigLayer
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.trust_items import TrustItem
from workflows.domain.errors import ConfigError

_WHY: Final = "a command of the project runs programs only once a person has accepted them"


def shell_items(layers: Sequence[ConfigLayer], workspace: Workspace, sources: ConfigSources) -> tuple[TrustItem, ...]:
    """For each template, the commands in it; not its words, which start nothing."""
    projects = [layer for layer in layers if not layer.trusted]
    in_json = read_prompts(projects, workspace.root, "command", "template").layers
    return tuple(_items((*in_json, *_command_files(workspace, sources))))


def _items(layers: Sequence[ConfigLayer]) -> Iterator[TrustItem]:
    for layer in layers:
        table = layer.tree.get("command")
        for name in table if isinstance(table, dict) else ():
            path = ("command", name, "template")
            template = value_at(layer.tree, path)
            if isinstance(template, str) and (commands := find_shell_references(template)):
                yield TrustItem(file=layer.file, path=path, value=[*commands], why=_WHY)


def _command_files(workspace: Workspace, sources: ConfigSources) -> Iterator[ConfigLayer]:
    """Of the project's Markdown files. A folder that cannot be read has no commands, and starts nothing."""
    named = dict(user_config_folders(workspace, sources))
    for folder in dict.fromkeys((*project_config_folders(workspace, sources), *named)):
        if named.get(folder):  # the home directory may be the project
            continue
        if not any((folder / each).is_dir() for each in ("command", "commands")):
            continue
        from activities.project.command_files import CommandFiles  # memory: few directories have commands

        try:
            yield from [*CommandFiles()(folder, trusted=False, workspace=workspace)]
        except ConfigError:
            continue
