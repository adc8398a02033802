"""What a project's commands run, and bold agents that do it: both need a person's trust (security.md 12)."""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from activities.files.workspace import Workspace
from activities.project.config_files import project_config_folders, user_config_folders
from activities.project.prompt_files import read_prompts
from workflows.domain.commands.template import find_shell_references
from workflows.domain.config.fields import FieldPath, value_at
from workflows.domain.config.merge import ConfigLayer
from workflows.domain.config.sources import ConfigSources
from workflows.domain.config.trust_items import TrustItem
from workflows.domain.errors import ConfigError

_RUNS: Final = "a command of the project runs programs only once a person has accepted them"
_BOLDER: Final = "the agent that does it may do more than that of your own configuration"


def project_commands(
    layers: Sequence[ConfigLayer], workspace: Workspace, sources: ConfigSources
) -> tuple[ConfigLayer, ...]:
    """The layers that are not the user's own, with their templates, and the project's Markdown files of commands."""
    projects = [layer for layer in layers if not layer.trusted]
    in_json = read_prompts(projects, workspace.root, "command", "template").layers
    return (*in_json, *_command_files(workspace, sources))


def shell_items(commands: Sequence[ConfigLayer]) -> Iterator[TrustItem]:
    """For each template, the commands in it; not its words, which start nothing."""
    for layer, path, template in _texts(commands, "template"):
        if found := find_shell_references(template):
            yield TrustItem(file=layer.file, path=path, value=[*found], why=_RUNS)


def named_agents(commands: Sequence[ConfigLayer]) -> frozenset[str]:
    return frozenset(agent for _, _, agent in _texts(commands, "agent"))


def agent_items(commands: Sequence[ConfigLayer], bolder: Collection[str]) -> Iterator[TrustItem]:
    """`bolder`: the agents that may do more than the user's own default one."""
    for layer, path, agent in _texts(commands, "agent"):
        if agent in bolder:
            yield TrustItem(file=layer.file, path=path, value=agent, why=_BOLDER)


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
