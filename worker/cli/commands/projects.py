"""`holdfast projects`."""

from contextlib import suppress
from datetime import UTC, datetime

import click

from worker.api.sessions import Project
from worker.cli.command_support import async_command, open_reader, print_note
from worker.cli.render.console import print_json_list, print_rows, terminal_columns
from worker.cli.render.escaping import escape_exact
from worker.cli.render.formatting import format_age, pluralize
from worker.cli.render.text_table import format_table
from worker.settings import Settings
from workflows.domain.errors import NothingYet


@click.command()
@click.option("--json", "as_json", is_flag=True, help="As a JSON array, with the projects' ids.")
@async_command
async def projects(settings: Settings, as_json: bool) -> None:
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
    if as_json:
        print_json_list(found)
    elif not found:
        print_note("There is no project yet: `holdfast run` starts a session, and with it one.")
    else:
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
        print_rows(format_table(rows, terminal_columns()))
