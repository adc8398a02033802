"""`holdfast delete`."""

from collections.abc import Sequence

import click

from worker.api.accepted import DeletedMessage, DeletedSessions
from worker.api.sessions import Overview
from worker.cli import completers, confirmation
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import open_client, person_command
from worker.cli.exit_codes import ExitCode
from worker.cli.render.escaping import escape_prose, one_line
from worker.cli.render.formatting import pluralize
from worker.settings import Settings
from workflows.domain.errors import UsageError
from workflows.domain.ids import MessageId, Prefix, SessionId, is_id


@click.command()
@click.argument("session", shell_complete=completers.session)
@click.option("--message", metavar="MESSAGE", help="Only what this prompt, answer or summary holds.")
@confirmation.yes_option
@person_command
@with_json("Print what was deleted as JSON.")
async def delete(settings: Settings, session: str, message: str | None, yes: bool) -> CommandOutput:
    """Delete a session: erase all that it holds.

    With its subagents' sessions, the files of its calls, and its archive. What remains is its log of events, without
    contents, which still verifies and names you. A session at work must be stopped first. On a terminal it asks;
    without one, `delete last` needs --yes. Backups, other copies of its archive, and forks still hold what they hold.

    With --message only one prompt, answer or summary is erased, and models read that it was deleted. A summary or a
    title that was made of it, and a subagent's session, keep what they say.

    \b
    Examples:
      holdfast delete ses_…
      holdfast delete ses_… --message msg_…
    """
    if message is not None and not is_id(Prefix.MESSAGE, message):
        raise UsageError(f"{message!r} is no message's id (msg_…): `holdfast export {session}` has them.")
    what = "{} and all that it holds" if message is None else "the message of {}, with its calls,"
    async with open_client(settings) as client:
        overview = await confirmation.confirm_session(client, session, f"Delete {what} for good?", yes=yes)
        report: DeletedMessage | DeletedSessions
        if message is not None:
            report = await client.deletions.delete_message(overview.id, MessageId(message))
            rows = [f"Deleted: message {report.message} of {overview.id}"]  # the title may quote it
        else:
            report = await client.deletions.delete(overview.id)
            rows = [_describe(overview, report.deleted)] if overview.id in report.deleted else []
    notes = [f"Not deleted: {escape_prose(each)}" for each in report.failures]
    if report.host is not None:
        host = one_line(report.host)
        notes.insert(0, f"The files of its calls are on host {host}; its worker removes them within an hour.")
    return CommandOutput(report, lambda: rows, notes=notes, code=ExitCode.FAILED if report.failures else ExitCode.DONE)


def _describe(overview: Overview, deleted: Sequence[SessionId]) -> str:
    below = len(deleted) - 1
    with_ = f", with {pluralize(below, 'session')} of subagents" if below else ""
    return f"Deleted: {one_line(overview.title)} ({overview.id}){with_}"
