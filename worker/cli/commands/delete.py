"""`holdfast delete`."""

import click

from worker.cli import completers, confirmation
from worker.cli.command_support import async_command, open_client, print_note
from worker.cli.exit_codes import ExitCode
from worker.cli.render.escaping import escape_prose, one_line
from worker.cli.render.formatting import pluralize
from worker.settings import Settings


@click.command()
@click.argument("session", shell_complete=completers.session)
@confirmation.yes_option
@click.option("--json", "as_json", is_flag=True, help="What was deleted, as JSON.")
@async_command
async def delete(settings: Settings, session: str, yes: bool, as_json: bool) -> ExitCode:
    """Delete a session: erase all that it holds.

    With its subagents' sessions, the files of its calls, and its archive. What remains is its log of events, without
    contents, which still verifies and names you. A session at work must be stopped first. On a terminal it asks;
    without one, `delete last` needs --yes. Backups, other copies of its archive, and forks still hold what they hold.

    \b
    Example:
      holdfast delete ses_…
    """
    async with open_client(settings) as client:
        overview = await confirmation.confirm_session(
            client, session, "Delete {} and all that it holds, for good?", yes=yes
        )
        report = await client.deletions.delete(overview.id)
    if as_json:
        click.echo(report.model_dump_json())
    elif overview.id in report.deleted:
        below = len(report.deleted) - 1
        with_ = f", with {pluralize(below, 'session')} of subagents" if below else ""
        click.echo(f"Deleted: {one_line(overview.title)} ({overview.id}){with_}")
    if report.host is not None:
        print_note(
            f"The files of its calls are on host {one_line(report.host)}: its worker removes them within an hour."
        )
    for each in report.failures:
        print_note(f"Not deleted: {escape_prose(each)}")
    return ExitCode.FAILED if report.failures else ExitCode.DONE
