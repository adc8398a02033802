"""`holdfast skills`: what agents can load in this directory."""

import click

from worker.cli import completers
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import async_command, current_directory
from worker.cli.config_remarks import find_config_remarks
from worker.cli.render import skill_list
from worker.cli.render.console import terminal_columns
from worker.project_config import Role, load_project_config
from worker.settings import Settings
from workflows.domain.skills import skill_action


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
    return CommandOutput(
        [skill_list.to_json(*each) for each in listed],
        lambda: skill_list.render_skills(listed, terminal_columns()),
        empty="There are no skills here: docs/skills.md says where they are looked for.",
        remarks=find_config_remarks(settings, turn_config),
    )
