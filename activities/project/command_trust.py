"""What a project's commands run, and the agents that they choose (security.md 12)."""

from collections.abc import Iterator, Sequence

from activities.files.workspace import Workspace
from activities.project.config_files import project_config_folders, user_config_folders
from activities.project.prompt_files import read_prompts
from workflows.domain.commands.template import find_shell_references
from workflows.domain.config.fields import FieldPath, value_at
from workflows.domain.config.merge import ConfigLayer
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.trust import Choice
from workflows.domain.config.trust_items import TrustItem
from workflows.domain.errors import ConfigError


def project_commands(
    layers: Sequence[ConfigLayer], workspace: Workspace, sources: ConfigSources
) -> tuple[ConfigLayer, ...]:
    """The layers that are not the user's own, with their templates, and the project's Markdown files of commands."""
    projects = [layer for layer in layers if not layer.trusted]
    in_json = read_prompts(projects, workspace.root, "command", "template").layers
    return (*in_json, *_command_files(workspace, sources))


def command_starts(commands: Sequence[ConfigLayer], choice: Choice) -> Iterator[TrustItem]:
    """For each template, the commands in it; not its words, which start nothing. And agents that a project may not
    choose."""
    for layer, path, template in _texts(commands, "template"):
        if found := find_shell_references(template):
            yield TrustItem(file=layer.file, path=path, value=[*found])
    for layer, path, agent in _texts(commands, "agent"):
        if not (choice.allows(agent) or choice.is_subagent(agent)):
            yield TrustItem(file=layer.file, path=path, value=agent)


def _texts(layers: Sequence[ConfigLayer], field: str) -> Iterator[tuple[ConfigLayer, FieldPath, str]]:
    """The field's text of each command that has it."""
    for layer in layers:
        table = layer.tree.get("command")
        for name in table if isinstance(table, dict) else ():
            path = ("command", name, field)
            if isinstance(text := value_at(layer.tree, path), str):
                yield layer, path, text


def _command_files(workspace: Workspace, sources: ConfigSources) -> Iterator[ConfigLayer]:
    """The project's Markdown files of commands. A folder that cannot be read has no commands, and starts nothing."""
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
