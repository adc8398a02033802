"""The slash commands of a directory (opencode.md 11)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from activities.files.workspace import Workspace
from activities.project.command_files import CommandFiles
from activities.project.config_files import read_layers
from activities.project.prompt_files import read_prompts
from activities.project.skill_files import read_skill
from prompts import render_prompt
from workflows.domain.commands.slash_command import CommandSource, RefusedCommand, SlashCommand
from workflows.domain.config.config import CommandSettings
from workflows.domain.config.fields import value_at
from workflows.domain.config.merge import ConfigLayer, merge_files
from workflows.domain.config.sources import ConfigSources
from workflows.domain.errors import ConfigError, UsageError
from workflows.domain.skills import Skill

_BUILT_IN: Final = {  # what for, and whether a subagent does it
    "init": ("Write or improve AGENTS.md, the project's rules for agents.", None),
    "review": ("Review changes: those not committed, or a commit, branch or pull request.", True),
}


@dataclass(frozen=True)
class FoundCommands:
    """Commands by name: built-in and configured ones, and skills whose name none of these has."""

    commands: Mapping[str, SlashCommand]
    refused: tuple[RefusedCommand, ...]
    warnings: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Refused ones too, so that typing one says why."""
        return (*self.commands, *(each.name for each in self.refused))

    def named(self, name: str) -> SlashCommand:
        """Raises UsageError."""
        for each in self.refused:
            if each.name == name:
                raise UsageError(f"The command /{name} cannot be used. {each.why}")
        if name not in self.commands:
            raise UsageError(f'Command not found: "{name}". Available commands: {", ".join(self.commands)}.')
        return self.commands[name]


def find_commands(
    workspace: Workspace, sources: ConfigSources, managed: Path, skills: Sequence[Skill] = ()
) -> FoundCommands:
    """`skills`: those that may be used. Raises ConfigError for a mistake in a file of JSON."""
    files = CommandFiles()
    layers, outside, warnings = read_prompts(
        read_layers(workspace, sources, managed, files), workspace.root, "command", "template"
    )
    found = {each.name: each for each in _built_in()} | {each.name: each for each in _configured(layers)}
    refused = files.refused
    for skill in skills:
        if skill.name not in found:
            try:
                found[skill.name] = _of_skill(skill, workspace)
            except ConfigError as error:
                refused.append(RefusedCommand(name=skill.name, why=str(error)))
    for each in refused:
        found.pop(each.name, None)  # another one in its place would do something else than its user expects
    held = (f"{each.file}: {each.field} has no effect: {each.untrusted.why}." for each in outside)
    own = {layer.file for layer in layers if layer.trusted}
    replaced = (
        f"{each.files[-1]}: its command /{name} takes the place of your own."
        for name, each in found.items()
        if not each.trusted and own.intersection(each.files)
    )
    return FoundCommands(dict(sorted(found.items())), tuple(refused), (*files.warnings, *warnings, *held, *replaced))


def _built_in() -> Iterator[SlashCommand]:
    for name, (description, subtask) in _BUILT_IN.items():
        yield SlashCommand(
            name=name,
            template=render_prompt(f"commands/{name}"),
            description=description,
            subtask=subtask,
            source=CommandSource.BUILT_IN,
        )


def _configured(layers: Sequence[ConfigLayer]) -> Iterator[SlashCommand]:
    tables = [(layer, table) for layer in layers if isinstance(table := layer.tree.get("command"), dict)]
    merged = merge_files(layer.tree for layer, _ in tables).get("command", {})
    assert isinstance(merged, dict)
    for name, fields in merged.items():
        writers = [layer for layer, table in tables if name in table]
        if value_at({name: fields}, (name, "template")) is None:
            continue  # that was a file outside of the project
        yield _of_settings(name, CommandSettings.model_validate(fields), writers)


def _of_settings(name: str, settings: CommandSettings, writers: Sequence[ConfigLayer]) -> SlashCommand:
    return SlashCommand(
        name=name,
        template=settings.template,
        description=settings.description,
        agent=settings.agent,
        model=settings.model,
        variant=settings.variant,
        subtask=settings.subtask,
        files=tuple(dict.fromkeys(layer.file for layer in writers)),
        trusted=_is_trusted(name, "template", writers),
        agent_trusted=_is_trusted(name, "agent", writers) and _is_trusted(name, "subtask", writers),
    )


def _is_trusted(name: str, field: str, writers: Sequence[ConfigLayer]) -> bool:
    """Whether the last layer that sets it is the user's own; true if none does."""
    tables = ((layer, value_at(layer.tree, ("command", name))) for layer in reversed(writers))
    return next((layer.trusted for layer, table in tables if isinstance(table, dict) and field in table), True)


def _of_skill(skill: Skill, workspace: Workspace) -> SlashCommand:
    """Raises ConfigError."""
    file = Path(skill.file)
    _, _, body = read_skill(file, None if skill.trusted else workspace.root)
    template = render_prompt("commands/skill", body=body, directory=str(file.parent))
    return SlashCommand(
        name=skill.name,
        template=template,
        description=skill.description,
        source=CommandSource.SKILL,
        files=(skill.file,),
        trusted=skill.trusted,
    )
