"""`holdfast config`: what this directory's configuration comes to."""

import json

import click

from activities.project.config_values import list_values
from worker.cli.agent_listing import load_any_config
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import async_command, current_directory
from worker.cli.config_remarks import find_other_remarks
from worker.cli.render import config_page
from worker.cli.render.console import terminal_columns
from worker.cli.render.escaping import escape_prose
from worker.config_schema import build_schema
from worker.project_config import load_checked_config
from worker.redaction import redactor
from worker.settings import Settings


@click.command()
@click.option("--schema", is_flag=True, help="Print the JSON schema of configuration files instead, for editors.")
@async_command
@with_json("As JSON, in the shape of OpenCode's files.")
async def config(settings: Settings, schema: bool) -> CommandOutput:
    """Show the configuration that applies here, and where each value comes from.

    What all files and variables come to in this directory, as a turn that starts now would find it, and what of them
    is ignored, with the reason. References such as {env:NAME} are shown as they are written, secrets not at all.

    \b
    Examples:
      holdfast config
      holdfast config --json | jq .config.permission
      holdfast config --schema > ~/.config/opencode/config.schema.json
    """
    if schema:
        text = json.dumps(build_schema(), indent=2)
        return CommandOutput(text, lambda: text)
    checked = await load_checked_config(settings, current_directory())
    turn_config, problem = await load_any_config(settings)
    mask = redactor(settings)
    values = [*list_values(checked, mask)]
    ignored = [*config_page.find_ignored(turn_config, mask)]
    remarks = [*([f"Warning: {problem}"] if problem else []), *find_other_remarks(settings, turn_config)]
    return CommandOutput(
        config_page.to_json(values, ignored, remarks),
        lambda: config_page.render_config(values, ignored, terminal_columns()),
        remarks=map(escape_prose, remarks),
    )
