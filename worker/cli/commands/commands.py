"""`holdfast commands` and `skills`: what can be typed as /NAME, and what agents can load, in this directory."""

from collections.abc import Iterator
from typing import Any, Final

import click

from worker.cli import completers
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import ListingGroup, async_command, current_directory
from worker.cli.render.console import Row, styled, terminal_columns
from worker.cli.render.escaping import escape_exact, escape_prose, one_line
from worker.cli.render.formatting import short_file
from worker.cli.render.text_table import format_choices
from worker.cli.render.wrap import wrap_text
from worker.config_remarks import find_config_remarks
from worker.project_config import Role, load_commands, load_project_config
from worker.settings import Settings
from workflows.domain.commands.slash_command import CommandSource, SlashCommand
from workflows.domain.skills import skill_action

_LONGEST: Final = 200  # characters of a description in the list
_HEADINGS: Final = ("command", "by", "what for (and where from)")
_SKILLS: Final = ("skill", "rule", "what for (and where from)")


@click.group("commands", cls=ListingGroup)
def commands_() -> None:
    """List the slash commands of this directory, or show one.

    Without a command: `holdfast commands list`.

    \b
    Examples:
      holdfast commands
      holdfast commands show review
    """


@commands_.command("list")
@async_command
@with_json()
async def list_(settings: Settings) -> CommandOutput:
    """List the slash commands of this directory's configuration, those built in, and skills.

    \b
    Example:
      holdfast commands list --json
    """
    found = await load_commands(settings, await load_project_config(settings, current_directory()))
    refused = (f"Refused: {escape_prose(each.why)}" for each in found.refused)
    warnings = (f"Warning: {escape_prose(each)}" for each in found.warnings)
    commands = [*found.commands.values()]
    rows = [((_typed(each), _worker(each)), _purpose(each.description), _origin(each)) for each in commands]
    return CommandOutput(
        [_to_json(each) for each in commands],
        lambda: format_choices(_HEADINGS, rows, terminal_columns()),
        notes=(*refused, *warnings),
    )


@commands_.command()
@click.argument("name", shell_complete=completers.command)
@async_command
@with_json()
async def show(settings: Settings, name: str) -> CommandOutput:
    """Show a slash command: where it is written, who does it, and its template.

    \b
    Examples:
      holdfast commands show review
      holdfast commands show release --json
    """
    found = await load_commands(settings, await load_project_config(settings, current_directory()))
    command = found.named(name)
    return CommandOutput(_to_json(command), lambda: _command_rows(command, terminal_columns()))


@click.command()
@click.option("--agent", shell_complete=completers.any_agent, help="By the rules of this agent, not the default one.")
@async_command
@with_json()
async def skills(settings: Settings, agent: str | None) -> CommandOutput:
    """List the skills that an agent can load here.

    With what its rules say of each; models are not told of a denied one.

    \b
    Examples:
      holdfast skills
      holdfast skills --agent reviewer --json
    """
    role = Role(agent, ancestors=1) if agent else Role()
    turn_config = await load_project_config(settings, current_directory(), role)
    listed = [(each, skill_action(each, turn_config.rules)) for each in turn_config.skills]
    unlisted = "no description: models are not told of it"
    rows = [
        ((escape_exact(each.name), action.value), _purpose(each.description or unlisted), short_file(each.file))
        for each, action in listed
    ]
    return CommandOutput(
        [
            {**each.model_dump(include={"name", "description"}), "location": each.file, "action": action}
            for each, action in listed
        ],
        lambda: format_choices(_SKILLS, rows, terminal_columns()) if rows else [],
        empty="There are no skills here: docs/skills.md says where they are looked for.",
        remarks=map(escape_prose, find_config_remarks(settings, turn_config)),
    )


def _purpose(description: str | None) -> str:
    return one_line(description or "", _LONGEST)


def _command_rows(command: SlashCommand, max_columns: int | None) -> Iterator[Row]:
    inner = None if max_columns is None else max_columns - 2
    yield styled(_typed(command), "bold")
    for fact in _facts(command):
        yield from (f"  {row}" for row in wrap_text(fact, inner, 2))
    yield ""
    yield styled("Template", "bold")
    for line in command.template.split("\n"):
        yield from (f"  {row}" for row in wrap_text(escape_prose(line), inner, 2))


def _to_json(command: SlashCommand) -> dict[str, Any]:
    """OpenCode's fields, and the files."""
    shown = ("name", "description", "agent", "model", "variant", "template", "subtask")
    return {
        **{name: getattr(command, name) for name in shown},
        "source": command.source.value,
        "hints": list(command.hints),
        "files": list(command.files),
    }


def _typed(command: SlashCommand) -> str:
    return escape_exact(" ".join((f"/{command.name}", *command.hints)))


def _worker(command: SlashCommand) -> str:
    """The agent that does it, and with which model."""
    names = [each for each in (command.agent, command.model, command.variant) if each]
    return escape_exact(" ".join([*names, *(["as a subtask"] if command.subtask else [])]) or "-")


def _origin(command: SlashCommand) -> str:
    if command.source is CommandSource.BUILT_IN:
        return command.source.value
    kind = "skill: " if command.source is CommandSource.SKILL else ""
    return kind + ", ".join(map(short_file, command.files))


def _facts(command: SlashCommand) -> Iterator[str]:
    if command.description:
        yield escape_prose(" ".join(command.description.split()))
    yield f"from {_origin(command)}" if command.files else _origin(command)
    yield f"agent: {escape_exact(command.agent) if command.agent else 'that of the turn'}"
    if command.model:
        yield f"model: {escape_exact(command.model)}"
    if command.variant:
        yield f"variant: {escape_exact(command.variant)}"
    if command.subtask is not None:
        yield "a subtask: a subagent does it" if command.subtask else "no subtask: its agent does it in the session"
