"""`holdfast fork`."""

import click

from worker.cli import completers, id_lookup
from worker.cli.command_output import CommandOutput, with_json
from worker.cli.command_support import async_command, open_client
from worker.cli.render.escaping import one_line
from worker.cli.render.formatting import pluralize
from worker.settings import Settings
from workflows.domain.errors import UsageError
from workflows.domain.ids import MessageId, Prefix, is_id


@click.command()
@click.argument("session", shell_complete=completers.session)
@click.option("--at", "before", metavar="MESSAGE", help="Copy only what is before this message (`export` has the ids).")
@async_command
@with_json("Print the new session as JSON.")
async def fork(settings: Settings, session: str, before: str | None) -> CommandOutput:
    """Start a new session with the messages of another one.

    Both go on independently. Nothing that the messages tell of runs again: calls that have not ended are interrupted in
    the copy. Grants and to-dos stay with the origin, and files are as they are now.

    \b
    Examples:
      holdfast fork last
      holdfast fork ses_… --at msg_…
    """
    if before is not None and not is_id(Prefix.MESSAGE, before):
        raise UsageError(f"{before!r} is no message's id (msg_…): `holdfast export {session}` has them.")
    async with open_client(settings) as client:
        origin = await id_lookup.find_session(client, session)
        forked = await client.copies.fork_session(origin, before=MessageId(before) if before else None)
    copied = pluralize(forked.messages, "message")
    return CommandOutput(forked, lambda: f"{forked.session}  {one_line(forked.title)}: {copied} of {origin}")
