"""`holdfast commands`: what can be typed as /NAME in this directory."""

import click

from worker.cli import completers
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import ListingGroup, async_command, current_directory
from worker.cli.render import command_page
from worker.cli.render.console import terminal_columns
from worker.cli.render.escaping import escape_prose
from worker.project_config import load_commands, load_project_config
from worker.settings import Settings


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
    value = [command_page.to_json(each) for each in commands]
    return CommandOutput(
        value, lambda: command_page.render_list(commands, terminal_columns()), notes=(*refused, *warnings)
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
    return CommandOutput(
        command_page.to_json(command), lambda: command_page.render_command(command, terminal_columns())
    )
