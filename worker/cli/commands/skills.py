"""`holdfast skills`: what agents can load in this directory."""

from collections.abc import Sequence
from typing import Any, Final

import click

from worker.cli import completers
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import async_command, current_directory
from worker.cli.config_remarks import find_config_remarks
from worker.cli.render.console import Row, styled, terminal_columns
from worker.cli.render.escaping import escape_exact, one_line
from worker.cli.render.formatting import short_file
from worker.cli.render.text_table import format_table
from worker.project_config import Role, load_project_config
from worker.settings import Settings
from workflows.domain.permissions.rules import Action
from workflows.domain.skills import Skill, skill_action

_LONGEST: Final = 200  # characters of a description
_HEADINGS: Final = ("skill", "rule", "what for (and where from)")
_UNLISTED: Final = "no description: models are not told of it"


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
        [_to_json(*each) for each in listed],
        lambda: _rows(listed, terminal_columns()),
        empty="There are no skills here: docs/skills.md says where they are looked for.",
        remarks=find_config_remarks(settings, turn_config),
    )


def _rows(listed: Sequence[tuple[Skill, Action]], max_columns: int | None) -> list[Row]:
    """The list of skills: in a pipe without a heading, and with the file as a column."""
    if max_columns is None:
        return format_table([(*_cells(*each), short_file(each[0].file), _purpose(each[0])) for each in listed])
    rows = [(*_cells(*each), f"{_purpose(each[0])} ({short_file(each[0].file)})") for each in listed]
    heading, *others = format_table([_HEADINGS, *rows], max_columns)
    return [styled(str(heading), "dim"), *others]


def _to_json(skill: Skill, action: Action) -> dict[str, Any]:
    return {"name": skill.name, "description": skill.description, "location": skill.file, "action": action.value}


def _cells(skill: Skill, action: Action) -> tuple[str, str]:
    return escape_exact(skill.name), action.value


def _purpose(skill: Skill) -> str:
    return one_line(skill.description or _UNLISTED, _LONGEST)
