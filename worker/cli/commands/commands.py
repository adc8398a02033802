"""`holdfast commands`: what can be typed as /NAME in this directory."""

import json

import click

from worker.cli import completers
from worker.cli.command_support import ListingGroup, async_command, current_directory, print_note
from worker.cli.render import command_page
from worker.cli.render.console import print_rows, terminal_columns
from worker.cli.render.escaping import escape_prose
from worker.project_config import load_commands, load_project_config
from worker.settings import Settings

_JSON = click.option("--json", "as_json", is_flag=True, help="As JSON.")


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
@_JSON
@async_command
async def list_(settings: Settings, as_json: bool) -> None:
    """List the slash commands of this directory's configuration, those built in, and skills.

    \b
    Example:
      holdfast commands list --json
    """
    found = await load_commands(settings, await load_project_config(settings, current_directory()))
    if as_json:
        click.echo(json.dumps([command_page.to_json(each) for each in found.commands.values()], indent=2))
    else:
        print_rows(command_page.render_list([*found.commands.values()], terminal_columns()))
    for refused in found.refused:
        print_note(f"Refused: {escape_prose(refused.why)}")
    for warning in found.warnings:
        print_note(f"Warning: {escape_prose(warning)}")


@commands_.command()
@click.argument("name", shell_complete=completers.command)
@_JSON
@async_command
async def show(settings: Settings, name: str, as_json: bool) -> None:
    """Show a slash command: where it is written, who does it, and its template.

    \b
    Examples:
      holdfast commands show review
      holdfast commands show release --json
    """
    found = await load_commands(settings, await load_project_config(settings, current_directory()))
    command = found.named(name)
    if as_json:
        click.echo(json.dumps(command_page.to_json(command), indent=2))
        return
    print_rows(command_page.render_command(command, terminal_columns()))
