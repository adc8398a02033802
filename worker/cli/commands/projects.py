"""`holdfast projects`."""

from contextlib import suppress
from datetime import UTC, datetime

import click

from worker.api.sessions import Project
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import async_command, open_reader
from worker.cli.render.console import Row, terminal_columns
from worker.cli.render.escaping import escape_exact
from worker.cli.render.formatting import format_age, pluralize
from worker.cli.render.text_table import format_table
from worker.settings import Settings
from workflows.domain.errors import NothingYet


@click.command()
@async_command
@with_json("As a JSON array, with the projects' ids.")
async def projects(settings: Settings) -> CommandOutput:
    """List the projects in which sessions were started.

    A project is a git work tree, or a directory outside of any. The last changed stands first. Work trees of one
    repository have one id: that of its first commit.

    \b
    Examples:
      holdfast projects
      holdfast sessions --project
    """
    found: list[Project] = []
    with suppress(NothingYet):
        async with open_reader(settings) as client:
            found = await client.sessions.projects()
    none = "There is no project yet: `holdfast run` starts a session, and with it one."
    return CommandOutput(found, lambda: _rows(found), empty=none)


def _rows(found: list[Project]) -> list[Row]:
    now = datetime.now(UTC)
    rows = [
        (
            f"{pluralize(each.sessions, 'session')}",
            format_age(each.updated_at, now),
            each.vcs or "no git",
            escape_exact(each.worktree) + (f" on {escape_exact(each.host)}" if each.host else ""),
        )
        for each in found
    ]
    return format_table(rows, terminal_columns())
